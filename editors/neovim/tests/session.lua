-- What a user does with a real program whose runs are there already: reads what had to hold, goes along an edge, looks
-- at both orders, applies the fix. The driver compiles what is left and runs it.
package.path = vim.env.UNSNARL_TEST_PLUGIN .. '/tests/?.lua;' .. package.path
local rig = require('rig')
local check, wait = rig.check, rig.wait

--- The line (from 1) that holds a text.
---@param text string
local function line_of(text)
  for at, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    if line:find('^%s+' .. vim.pesc(text)) then
      return at
    end
  end
  return 0
end

--- Labels of all inlay hints, in one text.
local function hints()
  local labels = {}
  for _, item in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
    labels[#labels + 1] = item.inlay_hint.label
  end
  return table.concat(labels, '\n')
end

local function cursor()
  return vim.api.nvim_win_get_cursor(0)[1]
end

--- What stands in a window: its lines, and the virtual text behind and below them.
---@param winid integer
local function drawn(winid)
  local bufnr = vim.api.nvim_win_get_buf(winid)
  local lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
  local marks = vim.api.nvim_buf_get_extmarks(bufnr, -1, 0, -1, { details = true })
  local below, signs = {}, {}
  for _, mark in ipairs(marks) do
    for _, part in ipairs(mark[4].virt_text or {}) do
      lines[mark[2] + 1] = lines[mark[2] + 1] .. ' | ' .. part[1]
    end
    for _, virtual in ipairs(mark[4].virt_lines or {}) do
      for _, part in ipairs(virtual) do
        below[#below + 1] = part[1]
      end
    end
    if mark[4].sign_text then
      signs[#signs + 1] = mark[2] + 1
    end
  end
  return lines, table.concat(below, ' '), signs
end

--- A note stands behind its line, inside the window.
---@param winid integer
local function notes_fit(winid)
  local notes, info = 0, vim.fn.getwininfo(winid)[1]
  local lines = drawn(winid)
  for _, line in ipairs(lines) do
    local before, note = line:match('^(.*) | (<%- .*)$')
    if note then
      notes = notes + 1
      local columns = vim.fn.strdisplaywidth(before) + 1 + vim.fn.strdisplaywidth(note)
      check('there is room for ' .. note, columns <= info.width - info.textoff, { columns, info.width, info.textoff })
    end
  end
  check('both notes are there', notes == 2, lines)
end

local function both_orders(read, between)
  local source = vim.api.nvim_get_current_win()
  vim.cmd('Unsnarl dsp')
  wait('two windows come', function()
    return #vim.api.nvim_tabpage_list_wins(0) == 3
  end)
  local fails = vim.api.nvim_get_current_win()
  local passes = vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(winid)
    return winid ~= fails and winid ~= source
  end)
  check('the left one says that it fails', vim.wo[fails].winbar:find('The order that fails'), vim.wo[fails].winbar)
  check('the right one that it passes', vim.wo[passes].winbar:find('An order that passes'), vim.wo[passes].winbar)
  local left, below, signs = drawn(fails)
  local right = drawn(passes)
  check('lines are aligned', #left == #right and #left == 5, { left, right })
  check('a step has its thread, its text and its value', left[1]:find('1%s+main.2%s+reads 300%s+long'), left)
  check('the other order its own value', table.concat(right, '\n'):find('1%s+main.2%s+reads 500%s+long'), right)
  notes_fit(fails)
  vim.api.nvim_win_set_width(fails, 60)
  vim.api.nvim_exec_autocmds('WinResized', {})
  check('a wider window shows more of the text', drawn(fails)[1]:find('long available = account', 1, true), drawn(fails)[1])
  check('what is turned round has signs', #signs == 2, signs)
  check('and a sentence', below:find('the other way round', 1, true), below)

  local echo, said = vim.api.nvim_echo, nil
  vim.api.nvim_echo = function(chunks)
    said = chunks[1][1]
  end
  vim.api.nvim_win_set_cursor(fails, { 2, 0 })
  vim.api.nvim_exec_autocmds('CursorMoved', {})
  vim.api.nvim_echo = echo
  check('the step under the cursor is told in full', said:find('bank_account.c:38  account.balance += amount;', 1, true), said)
  vim.api.nvim_win_set_cursor(fails, { 1, 0 })
  vim.api.nvim_feedkeys(vim.keycode('<CR>'), 'xt', false)
  wait('<CR> goes to the source', function()
    return vim.api.nvim_get_current_win() == source and cursor() == read
  end)
  local here = vim.api.nvim_get_namespaces()['unsnarl.dsp.here']
  local function lit(winid)
    return #vim.api.nvim_buf_get_extmarks(vim.api.nvim_win_get_buf(winid), here, 0, -1, {})
  end
  vim.api.nvim_win_set_cursor(source, { between, 0 })
  vim.api.nvim_exec_autocmds('CursorMoved', {})
  check('the step of the line is lit in both', lit(fails) == 1 and lit(passes) == 1, { lit(fails), lit(passes) })
  vim.api.nvim_set_current_win(fails)
  vim.api.nvim_feedkeys('q', 'xt', false)
  check('q closes both', #vim.api.nvim_tabpage_list_wins(0) == 1)
end

--- Applies the first fix that is offered at a line.
---@param line integer
local function fix(line)
  vim.api.nvim_win_set_cursor(0, { line, 4 })
  local before = vim.api.nvim_buf_get_changedtick(0)
  local titles = {}
  wait('a fix is offered and applied', function()
    vim.lsp.buf.code_action({
      apply = true,
      filter = function(action)
        titles[#titles + 1] = action.title
        return action.edit ~= nil and action.isPreferred == true
      end,
    })
    return vim.wait(1000, function()
      return vim.api.nvim_buf_get_changedtick(0) ~= before
    end, 10)
  end)
  if vim.api.nvim_buf_get_changedtick(0) == before then
    rig.say('offered:', vim.inspect(titles))
  end
  vim.cmd('write')
end

--- Executes a subcommand and waits until a message says how it has ended.
---@param name string
---@param ending string
local function ends_with(name, ending)
  local said, notify = {}, vim.notify
  vim.notify = function(text)
    said[#said + 1] = text
  end
  vim.cmd('Unsnarl ' .. name)
  wait(name .. ' says how it has ended', function()
    return table.concat(said, '\n'):find(ending)
  end)
  check('in one message', #said == 1, said)
  vim.notify = notify
end

--- Has the program run again, until the server says what that has shown.
---@param client vim.lsp.Client
local function confirmed(client)
  ends_with('confirm', '^unsnarl: confirmed by running it again, no failure with its fix$')
  local text
  wait('the program is run again', function()
    local reply = client:request_sync('unsnarl/explanations', nil, 5000)
    local first = reply and reply.result and reply.result.explanations[1]
    text = first and first.text
    return first and first.certainty == 'confirmed'
  end)
  check('the numbers are told', text and text:find('fails 10/10', 1, true), text)
  check('and that the fix was tried', text and text:find('no failure in', 1, true), text)
end

rig.main(function()
  local client = rig.client()
  local read, between = line_of('long available = account.balance'), line_of('account.balance += amount')
  wait('marks', function()
    return #vim.diagnostic.get(0, { lnum = read - 1 }) > 0
  end)
  wait('steps and what had to hold stand at the ends of lines', function()
    return hints():find('(2) main.1 writes 500', 1, true) and hints():find('// main.2: available <= 300', 1, true)
  end)

  check('the order of the steps is not told twice', not hints():find('overwrote', 1, true), hints())

  vim.api.nvim_win_set_cursor(0, { read, 4 })
  vim.ui.select = function(items, options, on_choice)
    for _, item in ipairs(items) do
      if options.format_item(item):find('step 2: ', 1, true) then
        on_choice(item)
      end
    end
  end
  vim.cmd('Unsnarl jump')
  wait('the next step leads to the other thread', function()
    return cursor() == between
  end)

  confirmed(client)
  both_orders(read, between)
  fix(read)
  ends_with('record', '^unsnarl: recorded: some runs fail; now there are %d+ runs')
end)
