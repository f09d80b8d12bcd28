--- The order that fails beside one that passes, in two windows: the same step on the same line where both orders
--- allow it, what comes the other way round lit.
local request = require('unsnarl.request')
local M = {}

local namespace = vim.api.nvim_create_namespace('unsnarl.dsp')
local here_namespace = vim.api.nvim_create_namespace('unsnarl.dsp.here')

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

---@class unsnarl.Side
---@field order unsnarl.Order
---@field passes boolean
---@field bufnr integer
---@field winid integer
---@field rows (unsnarl.Taken|false)[] What stands on each line; false for an empty one.

---@class unsnarl.View
---@field schedule unsnarl.Schedule
---@field sides unsnarl.Side[]
---@field source integer The window that steps are shown in.
---@field client vim.lsp.Client

---@type unsnarl.View?
local view

local groups = {
  UnsnarlFails = 'DiagnosticError',
  UnsnarlPasses = 'DiagnosticOk',
  UnsnarlHere = 'Visual',
  UnsnarlThread = 'Identifier',
  UnsnarlEffect = 'Number',
  UnsnarlNote = 'Comment',
}

---@param value any what JSON says; null is a value of its own
local function known(value)
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
local function align(a, b)
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
local function differs(schedule, number)
  return is_turned(schedule, number) or vim.tbl_contains(schedule.missing, number)
end

--- What differs, in sentences.
---@param schedule unsnarl.Schedule
---@return string[]
local function differences(schedule)
  local texts = {}
  for _, one in ipairs(vim.list_extend(vim.list_slice(schedule.turned), schedule.added)) do
    texts[#texts + 1] = one.text
  end
  if #schedule.missing > 0 then
    texts[#texts + 1] = ('Steps that the passing run does not take: %s.'):format(table.concat(schedule.missing, ', '))
  end
  return texts
end

--- Who takes a step, a little further to the right for each lane.
---@param schedule unsnarl.Schedule
---@param step unsnarl.Taken
local function who(schedule, step)
  return ('  '):rep(step.lane) .. schedule.lanes[step.lane + 1].thread
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

--- A step in a line: number, thread, what it did, source text; and where its parts begin and end.
---@param schedule unsnarl.Schedule
---@param side unsnarl.Side
---@param step unsnarl.Taken|false
---@return string
---@return { thread: integer[], effect: integer[] }?
local function text(schedule, side, step)
  if not step then
    return ''
  end
  local thread = padded(
    who(schedule, step),
    width(side.rows, function(one)
      return who(schedule, one)
    end)
  )
  local effect = padded(
    step.effect,
    width(side.rows, function(one)
      return one.effect
    end)
  )
  local start = ('%d '):format(step.number)
  local behind = #start + #thread + 1
  local line = ('%s%s %s  %s'):format(start, thread, effect, step.place.text)
  return line, { thread = { #start, #start + #thread }, effect = { behind, behind + #effect } }
end

---@param schedule unsnarl.Schedule
---@param side unsnarl.Side
---@param row integer
---@param step unsnarl.Taken
local function decorate_step(schedule, side, row, step)
  local lit = side.passes and 'UnsnarlPasses' or 'UnsnarlFails'
  local turned = differs(schedule, step.number)
  local _, parts = text(schedule, side, step)
  local note = known(step.note) and step.note ~= '' and '<- ' .. step.note or nil
  vim.api.nvim_buf_set_extmark(side.bufnr, namespace, row - 1, 0, {
    sign_text = turned and (side.passes and '<' or '>') or nil,
    sign_hl_group = turned and lit or nil,
    virt_text = note and { { note, lit } } or nil,
    virt_text_pos = note and 'eol' or nil,
  })
  for name, group in pairs({ thread = 'UnsnarlThread', effect = turned and lit or 'UnsnarlEffect' }) do
    vim.api.nvim_buf_set_extmark(side.bufnr, namespace, row - 1, parts[name][1], {
      end_col = parts[name][2],
      hl_group = group,
    })
  end
end

---@param schedule unsnarl.Schedule
---@param side unsnarl.Side
local function decorate(schedule, side)
  for row, step in ipairs(side.rows) do
    if step then
      decorate_step(schedule, side, row, step)
    end
  end
  local lit = side.passes and 'UnsnarlPasses' or 'UnsnarlFails'
  local below = { { { '' } }, { { side.passes and 'passes' or side.order['end'], lit } } }
  for _, sentence in ipairs(side.passes and {} or differences(schedule)) do
    for _, part in ipairs(M.wrap(sentence, vim.api.nvim_win_get_width(side.winid) - 4)) do
      below[#below + 1] = { { part, 'UnsnarlNote' } }
    end
  end
  vim.api.nvim_buf_set_extmark(side.bufnr, namespace, #side.rows - 1, 0, { virt_lines = below })
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

---@param side unsnarl.Side
local function fill(schedule, side)
  local lines = vim.tbl_map(function(step)
    return (text(schedule, side, step))
  end, side.rows)
  vim.api.nvim_buf_set_lines(side.bufnr, 0, -1, true, lines)
  local bo, wo = vim.bo[side.bufnr], vim.wo[side.winid]
  bo.buftype, bo.bufhidden, bo.swapfile, bo.modifiable, bo.filetype = 'nofile', 'wipe', false, false, 'unsnarl'
  wo.wrap, wo.number, wo.relativenumber, wo.signcolumn, wo.cursorline = false, false, false, 'yes:1', true
  wo.scrollbind, wo.cursorbind, wo.fillchars = true, true, 'eob: '
  wo.winbar = ('%%#%s#%s%%*  %s'):format(
    side.passes and 'UnsnarlPasses' or 'UnsnarlFails',
    side.passes and 'An order that passes' or 'The order that fails',
    side.order.run:gsub('%%', '%%%%')
  )
  decorate(schedule, side)
end

--- The step under the cursor of a side.
---@param side unsnarl.Side
---@return unsnarl.Taken?
local function under_cursor(side)
  return side.rows[vim.api.nvim_win_get_cursor(side.winid)[1]] or nil
end

--- Shows the source of the step under the cursor in the window that the view was opened from.
function M.go()
  local winid = vim.api.nvim_get_current_win()
  for _, side in ipairs(view and view.sides or {}) do
    local step = side.winid == winid and under_cursor(side) or nil
    if step and known(step.now) then
      if vim.api.nvim_win_is_valid(view.source) then
        vim.api.nvim_set_current_win(view.source)
      else
        vim.cmd('topleft new')
        view.source = vim.api.nvim_get_current_win()
      end
      vim.lsp.util.show_document(step.now, view.client.offset_encoding, { focus = true })
    elseif step then
      vim.notify('unsnarl: the line has changed since the run')
    end
  end
end

--- Closes both windows.
function M.close()
  local closing = view
  view = nil
  for _, side in ipairs(closing and closing.sides or {}) do
    if vim.api.nvim_win_is_valid(side.winid) then
      vim.api.nvim_win_close(side.winid, true)
    end
  end
end

--- Lights the steps of the line that the cursor is on, and brings the first of them into view.
function M.follow()
  local bufnr = vim.api.nvim_get_current_buf()
  for _, side in ipairs(view and view.sides or {}) do
    if side.bufnr == bufnr or not vim.api.nvim_buf_is_valid(side.bufnr) then
      return
    end
  end
  local name, line = vim.api.nvim_buf_get_name(bufnr), vim.api.nvim_win_get_cursor(0)[1] - 1
  for _, side in ipairs(view and view.sides or {}) do
    vim.api.nvim_buf_clear_namespace(side.bufnr, here_namespace, 0, -1)
    for row, step in ipairs(side.rows) do
      local now = step and known(step.now) and step.now or nil
      if now and now.range.start.line == line and vim.uri_to_fname(now.uri) == name then
        vim.api.nvim_buf_set_extmark(side.bufnr, here_namespace, row - 1, 0, {
          line_hl_group = 'UnsnarlHere',
          priority = 5000,
        })
      end
    end
  end
end

---@param bufnr integer
local function map(bufnr)
  vim.keymap.set('n', '<CR>', M.go, { buffer = bufnr, desc = 'Go to the source of this step' })
  vim.keymap.set('n', 'q', M.close, { buffer = bufnr, desc = 'Close both orders' })
end

---@param schedule unsnarl.Schedule
---@param client vim.lsp.Client
local function open(schedule, client)
  M.close()
  for name, link in pairs(groups) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
  local left, right = align(schedule.failing.steps, known(schedule.passing) and schedule.passing.steps or {})
  if not known(schedule.passing) then
    vim.notify('unsnarl: no order that passes to compare with: ' .. schedule.reason)
  end
  local now = { schedule = schedule, sides = {}, source = vim.api.nvim_get_current_win(), client = client }
  local function side(passes, order, rows)
    vim.cmd(passes and 'rightbelow vnew' or 'botright new')
    local one = { order = order, passes = passes, rows = rows, bufnr = vim.api.nvim_get_current_buf(), winid = vim.api.nvim_get_current_win() }
    map(one.bufnr)
    now.sides[#now.sides + 1] = one
  end
  side(false, schedule.failing, left)
  vim.api.nvim_win_set_height(0, math.min(#left + 6 + 2 * #schedule.turned, math.floor(vim.o.lines / 2)))
  if known(schedule.passing) then
    side(true, schedule.passing, right)
  end
  for _, one in ipairs(now.sides) do
    fill(schedule, one)
  end
  view = now
  vim.api.nvim_set_current_win(now.sides[1].winid)
  vim.api.nvim_create_autocmd('CursorMoved', {
    group = vim.api.nvim_create_augroup('unsnarl.dsp', {}),
    callback = M.follow,
  })
end

--- Opens the two orders of the selected explanation.
function M.show()
  request.ask('unsnarl/schedule', { explanation = vim.NIL }, function(schedule, client)
    if known(schedule) then
      open(schedule, client)
    else
      vim.notify('unsnarl: nothing is explained, see :Unsnarl status', vim.log.levels.WARN)
    end
  end)
end

return M
