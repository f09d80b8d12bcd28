--- What both orders say, line by line, without any window: which step stands beside which, and how it is written.
local M = {}

---@class unsnarl.Taken
---@field number integer The step's number in the explanation.
---@field lane integer Index into the lanes, from 0.
---@field place { file: string, line: integer, text: string }
---@field now lsp.Location?
---@field variable string
---@field effect string
---@field note string

---@class unsnarl.Order
---@field run string
---@field end string
---@field steps unsnarl.Taken[]
---@field arrows integer[][]

---@class unsnarl.Schedule
---@field explanation string
---@field headline string
---@field lanes { thread: string, name: string }[]
---@field failing unsnarl.Order
---@field passing unsnarl.Order?
---@field reason string?
---@field missing integer[]
---@field turned { from: integer, to: integer, kind: string, text: string }[]
---@field added { step: integer, text: string }[]

---@param value any what JSON says; null is a value of its own
function M.known(value)
  return value ~= nil and value ~= vim.NIL
end

--- The longest list of steps that both orders have in common, as sets of the steps' numbers.
---@param a unsnarl.Taken[]
---@param b unsnarl.Taken[]
---@return table<integer, boolean>
local function common(a, b)
  local best = {}
  for i = #a + 1, 1, -1 do
    best[i] = {}
    for j = #b + 1, 1, -1 do
      if i > #a or j > #b then
        best[i][j] = 0
      elseif a[i].number == b[j].number then
        best[i][j] = best[i + 1][j + 1] + 1
      else
        best[i][j] = math.max(best[i + 1][j], best[i][j + 1])
      end
    end
  end
  local shared, i, j = {}, 1, 1
  while i <= #a and j <= #b do
    if a[i].number == b[j].number then
      shared[a[i].number] = true
      i, j = i + 1, j + 1
    elseif best[i + 1][j] >= best[i][j + 1] then
      i = i + 1
    else
      j = j + 1
    end
  end
  return shared
end

--- Lines of both sides, of the same number: where one takes a step out of turn, the other has an empty line.
---@param a unsnarl.Taken[]
---@param b unsnarl.Taken[]
---@return (unsnarl.Taken|false)[], (unsnarl.Taken|false)[]
function M.align(a, b)
  local shared, left, right, i, j = common(a, b), {}, {}, 1, 1
  while i <= #a or j <= #b do
    local mine, other = a[i], b[j]
    if mine and not shared[mine.number] then
      left[#left + 1], right[#right + 1], i = mine, false, i + 1
    elseif other and not shared[other.number] then
      left[#left + 1], right[#right + 1], j = false, other, j + 1
    else
      left[#left + 1], right[#right + 1], i, j = mine or false, other or false, i + 1, j + 1
    end
  end
  return left, right
end

---@param schedule unsnarl.Schedule
---@param number integer
local function is_turned(schedule, number)
  for _, pair in ipairs(schedule.turned) do
    if pair.from == number or pair.to == number then
      return true
    end
  end
  for _, one in ipairs(schedule.added) do
    if one.step == number then
      return true
    end
  end
  return false
end

--- Does the step come the other way round, or in one of the orders only?
---@param schedule unsnarl.Schedule
---@param number integer
function M.differs(schedule, number)
  return is_turned(schedule, number) or vim.tbl_contains(schedule.missing, number)
end

--- What differs, in sentences.
---@param schedule unsnarl.Schedule
---@return string[]
function M.differences(schedule)
  local texts = {}
  for _, one in ipairs(vim.list_extend(vim.list_slice(schedule.turned), schedule.added)) do
    texts[#texts + 1] = one.text
  end
  if #schedule.missing > 0 then
    texts[#texts + 1] = ('Steps that the passing run does not take: %s.'):format(table.concat(schedule.missing, ', '))
  end
  return texts
end

--- In windows narrower than this lanes are closer.
local NARROW = 50

--- Who takes a step, a little further to the right for each lane.
---@param schedule unsnarl.Schedule
---@param step unsnarl.Taken
---@param columns integer
local function who(schedule, step, columns)
  local lane = columns < NARROW and ' ' or '  '
  return lane:rep(step.lane) .. schedule.lanes[step.lane + 1].thread
end

---@param rows (unsnarl.Taken|false)[]
---@param of fun(step: unsnarl.Taken): string
local function width(rows, of)
  local most = 0
  for _, step in ipairs(rows) do
    most = math.max(most, step and vim.fn.strdisplaywidth(of(step)) or 0)
  end
  return most
end

---@param text string
---@param to integer
local function padded(text, to)
  return text .. (' '):rep(to - vim.fn.strdisplaywidth(text))
end

--- Less than this of a text says nothing.
local LEAST = 8

--- A text in that many columns; what does not fit is left away, and a mark says so.
---@param text string
---@param columns integer
function M.shortened(text, columns)
  if vim.fn.strdisplaywidth(text) <= columns then
    return text
  end
  local characters = vim.fn.strchars(text)
  while characters > 0 and vim.fn.strdisplaywidth(vim.fn.strcharpart(text, 0, characters)) >= columns do
    characters = characters - 1
  end
  return columns < LEAST and '' or vim.fn.strcharpart(text, 0, characters) .. '…'
end

--- What is remarked about a step, to stand behind it.
---@param step unsnarl.Taken
---@return string?
function M.note(step)
  return M.known(step.note) and step.note ~= '' and '<- ' .. step.note or nil
end

--- A step with the place and the whole text of its line.
---@param step unsnarl.Taken
---@return string
function M.told(step)
  local place = step.place
  return ('%d  %s:%d  %s  %s'):format(step.number, vim.fs.basename(place.file), place.line, place.text, step.effect)
end

--- A step in a line: number, thread, what it did, and as much of the source text as leaves room for the note; and where
--- its parts begin and end.
---@param schedule unsnarl.Schedule
---@param all (unsnarl.Taken|false)[] The steps that stand below each other.
---@param step unsnarl.Taken|false
---@param columns integer
---@return string
---@return { thread: integer[], effect: integer[] }?
function M.text(schedule, all, step, columns)
  if not step then
    return ''
  end
  local function thread_of(one)
    return who(schedule, one, columns)
  end
  local function effect_of(one)
    return one.effect
  end
  local thread = padded(thread_of(step), width(all, thread_of))
  local effect = padded(step.effect, width(all, effect_of))
  local start = ('%d '):format(step.number)
  local behind = #start + #thread + 1
  local line = ('%s%s %s  '):format(start, thread, effect)
  local note = M.note(step)
  local room = columns - vim.fn.strdisplaywidth(line) - (note and vim.fn.strdisplaywidth(note) + 1 or 0)
  line = vim.trim(line .. M.shortened(step.place.text, room))
  return line, { thread = { #start, #start + #thread }, effect = { behind, behind + #step.effect } }
end

--- A sentence in lines that fit.
---@param sentence string
---@param width integer
---@return string[]
function M.wrap(sentence, width)
  local lines = { '' }
  for word in sentence:gmatch('%S+') do
    local longer = lines[#lines] == '' and word or lines[#lines] .. ' ' .. word
    if lines[#lines] ~= '' and vim.fn.strdisplaywidth(longer) > width then
      lines[#lines + 1] = word
    else
      lines[#lines] = longer
    end
  end
  return lines
end

return M
