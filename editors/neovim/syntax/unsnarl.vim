" Explanations as text, and the orders of both sides.
if exists('b:current_syntax')
  finish
endif
syntax match unsnarlHeadline /^\%(error\|warning\|note\): .*/ contains=unsnarlCode
syntax match unsnarlThread /\<main\%(\.\d\+\)*\>/
syntax match unsnarlPlace /[[:alnum:]_.-]\+\.[[:alnum:]]\+:\d\+/
syntax match unsnarlCode /`[^`]*`/
syntax match unsnarlNote /<- .*$/
syntax match unsnarlVerdict /^ *\zs\%(Confirmed\|Likely\|Possible\|Refuted\|Fix\):/
highlight default link unsnarlHeadline Title
highlight default link unsnarlThread Identifier
highlight default link unsnarlPlace Directory
highlight default link unsnarlCode String
highlight default link unsnarlNote Comment
highlight default link unsnarlVerdict Statement
let b:current_syntax = 'unsnarl'
