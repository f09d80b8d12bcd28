--- The order that fails beside one that passes, in two windows: the same step on the same line where both orders
--- allow it, what comes the other way round lit.
local request = require('unsnarl.request')
local rows = require('unsnarl.rows')
local M = {}

local namespace = vim.api.nvim_create_namespace('unsnarl.dsp')
local here_namespace = vim.api.nvim_create_namespace('unsnarl.dsp.here')

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

--- Columns for text in a side's window: those beside the signs.
---@param side unsnarl.Side
local function columns(side)
  local info = vim.fn.getwininfo(side.winid)[1]
  return info.width - info.textoff
end

---@param schedule unsnarl.Schedule
---@param side unsnarl.Side
---@param row integer
---@param step unsnarl.Taken
local function decorate_step(schedule, side, row, step)
  local lit = side.passes and 'UnsnarlPasses' or 'UnsnarlFails'
  local turned = rows.differs(schedule, step.number)
  local _, parts = rows.text(schedule, side.rows, step, columns(side))
  local note = rows.note(step)
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

--- Below the steps: how the order ends, and, on the side that fails, what differs.
---@param schedule unsnarl.Schedule
---@param side unsnarl.Side
local function below(schedule, side)
  local lit = side.passes and 'UnsnarlPasses' or 'UnsnarlFails'
  local lines = { { { '' } } }
  local function add(sentence, group)
    for _, part in ipairs(rows.wrap(sentence, columns(side))) do
      lines[#lines + 1] = { { part, group } }
    end
  end
  add(side.passes and 'passes' or side.order['end'], lit)
  for _, sentence in ipairs(side.passes and {} or rows.differences(schedule)) do
    add(sentence, 'UnsnarlNote')
  end
  return lines
end

--- Writes a side as wide as its window is now.
---@param schedule unsnarl.Schedule
---@param side unsnarl.Side
local function draw(schedule, side)
  local lines = vim.tbl_map(function(step)
    return (rows.text(schedule, side.rows, step, columns(side)))
  end, side.rows)
  local cursor = vim.api.nvim_win_get_cursor(side.winid)
  vim.bo[side.bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(side.bufnr, 0, -1, true, lines)
  vim.bo[side.bufnr].modifiable = false
  vim.api.nvim_win_set_cursor(side.winid, { cursor[1], 0 })
  vim.api.nvim_buf_clear_namespace(side.bufnr, namespace, 0, -1)
  for row, step in ipairs(side.rows) do
    if step then
      decorate_step(schedule, side, row, step)
    end
  end
  vim.api.nvim_buf_set_extmark(side.bufnr, namespace, #side.rows - 1, 0, { virt_lines = below(schedule, side) })
end

---@param side unsnarl.Side
local function prepare(side)
  local wo = vim.wo[side.winid]
  require('unsnarl.scratch').name(side.bufnr, ('unsnarl://%s/%s'):format(side.passes and 'passes' or 'fails', side.order.run))
  wo.wrap, wo.number, wo.relativenumber, wo.signcolumn, wo.cursorline = false, false, false, 'yes:1', true
  wo.scrollbind, wo.cursorbind, wo.fillchars = true, true, 'eob: '
  wo.winbar = ('%%#%s#%s%%*  %%<%s'):format(
    side.passes and 'UnsnarlPasses' or 'UnsnarlFails',
    side.passes and 'An order that passes' or 'The order that fails',
    side.order.run:gsub('%%', '%%%%')
  )
end

--- After windows have become wider or narrower.
local function redraw()
  for _, side in ipairs(view and view.sides or {}) do
    if vim.api.nvim_win_is_valid(side.winid) then
      draw(view.schedule, side)
    end
  end
  M.follow()
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
    if step and rows.known(step.now) then
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

--- Says in the command line what the step under the cursor is: beside the other order there may be no room for its text.
---@param side unsnarl.Side
local function tell(side)
  local step = under_cursor(side)
  vim.api.nvim_echo({ { step and rows.shortened(rows.told(step), vim.v.echospace) or '' } }, false, {})
end

--- Lights the steps of the line that the cursor is on, and brings the first of them into view.
function M.follow()
  local bufnr = vim.api.nvim_get_current_buf()
  for _, side in ipairs(view and view.sides or {}) do
    if not vim.api.nvim_buf_is_valid(side.bufnr) then
      return
    elseif side.bufnr == bufnr then
      return tell(side)
    end
  end
  local name, line = vim.api.nvim_buf_get_name(bufnr), vim.api.nvim_win_get_cursor(0)[1] - 1
  for _, side in ipairs(view and view.sides or {}) do
    vim.api.nvim_buf_clear_namespace(side.bufnr, here_namespace, 0, -1)
    for row, step in ipairs(side.rows) do
      local now = step and rows.known(step.now) and step.now or nil
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
  local left, right = rows.align(schedule.failing.steps, rows.known(schedule.passing) and schedule.passing.steps or {})
  if not rows.known(schedule.passing) then
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
  if rows.known(schedule.passing) then
    side(true, schedule.passing, right)
  end
  for _, one in ipairs(now.sides) do
    prepare(one)
  end
  local height = 0
  for _, one in ipairs(now.sides) do
    draw(schedule, one)
    height = math.max(height, 1 + #one.rows + #below(schedule, one))
  end
  vim.api.nvim_win_set_height(now.sides[1].winid, math.min(height, math.floor(vim.o.lines / 2)))
  view = now
  vim.api.nvim_set_current_win(now.sides[1].winid)
  local group = vim.api.nvim_create_augroup('unsnarl.dsp', {})
  vim.api.nvim_create_autocmd('CursorMoved', { group = group, callback = M.follow })
  vim.api.nvim_create_autocmd('WinResized', { group = group, callback = redraw })
  M.follow()
end

--- Opens the two orders of the selected explanation.
function M.show()
  request.ask('unsnarl/schedule', { explanation = vim.NIL }, function(schedule, client)
    if rows.known(schedule) then
      open(schedule, client)
    else
      vim.notify('unsnarl: nothing is explained, see :Unsnarl status', vim.log.levels.WARN)
    end
  end)
end

return M
