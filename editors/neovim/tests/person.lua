-- What a person meets who installs the repository with a plugin manager and records in a build folder: hints that are
-- drawn, lenses, buffers to read and to jump from, menus, and what is said when something is applied or missing.
package.path = vim.env.UNSNARL_TEST_PLUGIN .. '/tests/?.lua;' .. package.path
local rig = require('rig')
local check, wait = rig.check, rig.wait

--- What is said while a function runs, until something is.
---@param act fun()
---@return string
local function told(act)
  local said
  local notify, once = vim.notify, vim.notify_once
  vim.notify = function(text)
    said = said or text
  end
  vim.notify_once = vim.notify
  act()
  wait('something is said', function()
    return said
  end)
  vim.notify, vim.notify_once = notify, once
  return said or ''
end

--- Lines (from 1) with the text that is drawn at them for hints.
local function drawn()
  vim.cmd('redraw!')
  local namespace = vim.api.nvim_get_namespaces()['nvim.lsp.inlayhint']
  local lines = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
    local texts = vim.tbl_map(function(part)
      return part[1]
    end, mark[4].virt_text)
    lines[mark[2] + 1] = vim.trim(table.concat(texts))
  end
  return lines
end

--- Makes the screen be drawn between each question for hints and its answer, as a busy screen is now and then.
---@param client vim.lsp.Client
local function draw_in_between(client)
  local send = client.rpc.request
  client.rpc.request = function(method, params, answer, ...)
    if method == 'textDocument/inlayHint' then
      local given = answer
      answer = vim.schedule_wrap(function(...)
        vim.cmd('redraw!')
        given(...)
      end)
    end
    return send(method, params, answer, ...)
  end
end

local HINTS = {
  [6] = '(2) main.1 writes 500',
  [12] = '(1) main.2 reads 300',
  [16] = '(3) main.2 writes 250',
  [24] = '(4) main reads 250, fails',
}

--- Lets a run land in a build folder, or takes it back.
local function build(lands)
  local from, to = 'prepared/failing.arrow', 'build/.unsnarl/runs/failing.arrow'
  vim.fn.mkdir('build/.unsnarl/runs', 'p')
  assert(vim.uv.fs_rename(lands and from or to, lands and to or from))
end

local function hints(client)
  wait('a hidden buffer is there', function()
    return #vim.lsp.get_clients({ bufnr = 0, name = 'unsnarl' }) == 1
  end)
  draw_in_between(client)
  wait('nothing is drawn yet', function()
    return vim.tbl_isempty(drawn())
  end)
  build(true)
  wait('hints are drawn, whatever is drawn before their answer', function()
    return vim.deep_equal(drawn(), HINTS)
  end)
  check('they are those', vim.deep_equal(drawn(), HINTS), drawn())
  vim.cmd('hide enew')
  build(false)
  wait('the run is gone', function()
    return #vim.diagnostic.get(vim.fn.bufnr('bank.c')) == 0
  end)
  vim.cmd('buffer bank.c')
  wait('hints of a buffer that was hidden are not the old ones', function()
    return vim.tbl_isempty(drawn())
  end)
  build(true)
  wait('and come again', function()
    return vim.deep_equal(drawn(), HINTS)
  end)
end

local function lenses()
  wait('a lens is shown', function()
    return #vim.lsp.codelens.get(0) > 0
  end)
  local titles = vim.tbl_map(function(lens)
    return lens.command.title
  end, vim.lsp.codelens.get(0))
  check('with what can be done', vim.tbl_contains(titles, 'unsnarl: explain'), titles)
end

local function explanation()
  vim.api.nvim_feedkeys(vim.keycode('<Plug>(unsnarl-explain)'), 'x', false)
  wait('the explanations are in a buffer of their own name', function()
    return vim.api.nvim_buf_get_name(0) == 'unsnarl://explanations'
  end)
  vim.fn.search([[bank\.c:6]])
  local group = vim.fn.synIDattr(vim.fn.synID(vim.fn.line('.'), vim.fn.col('.'), 1), 'name')
  check('places are highlighted', group == 'unsnarlPlace', group)
  vim.api.nvim_feedkeys(vim.keycode('<CR>'), 'x', false)
  wait('and lead to the source', function()
    return vim.fn.expand('%:t') == 'bank.c' and vim.fn.line('.') == 6
  end)
  vim.cmd('Unsnarl explain')
  wait('the same buffer is used again', function()
    return vim.api.nvim_buf_get_name(0) == 'unsnarl://explanations'
  end)
  check('once', #vim.api.nvim_list_wins() == 2, vim.api.nvim_list_wins())
  vim.api.nvim_feedkeys('q', 'x', false)
end

--- What is said when the program was run again for an explanation that is not told any more.
local function refuted()
  local said = require('unsnarl.confirm').told
  local asked = { id = 'a', runs = { 'failed-1' }, headline = '`n` was lost' }
  local other = { id = 'b', runs = { 'failed-0', 'failed-1' }, headline = '`m` was read too early' }
  local text = said(asked, { explanations = { other } })
  check('another cause of the same run is named', text:find('another cause fits better: `m` was read too early', 1, true) ~= nil, text)
  other.runs = { 'failed-0' }
  text = said(asked, { explanations = { other } })
  check('else what is refuted is', text:find('refuted: .*: `n` was lost') ~= nil, text)
end

--- Chooses in each list that is offered from now on the entry with the next of these texts.
---@param ... string
---@return string[][] offered The titles of each list, as they come.
local function choose(...)
  local texts, offered = { ... }, {}
  vim.ui.select = function(items, options, on_choice)
    local titles = vim.tbl_map(options.format_item, items)
    offered[#offered + 1] = titles
    for at, title in ipairs(titles) do
      if title:find(texts[#offered], 1, true) then
        on_choice(items[at], at)
        return
      end
    end
    on_choice()
  end
  return offered
end

local function menu()
  vim.api.nvim_win_set_cursor(0, { 12, 4 })
  local offered = choose('more (', 'nothing of this')
  vim.lsp.buf.code_action()
  wait('a menu opens, and another behind its last entry', function()
    return #offered == 2
  end)
  local titles, behind = offered[1] or {}, offered[2] or {}
  check('with three entries', #titles == 3, titles)
  check('the others are behind the last', table.concat(behind, '\n'):find('harmless', 1, true), behind)

  -- Which lines a fix edits is known a moment later than the explanation.
  vim.api.nvim_win_set_cursor(0, { 14, 4 })
  local said
  wait('the fix is offered where it edits', function()
    said = told(function()
      choose('unsnarl: keep')
      vim.lsp.buf.code_action()
    end)
    return not said:find('No code actions', 1, true)
  end)
  check('what a fix has changed is said', said:find('^unsnarl: changed %d places in bank.c') ~= nil, said)
  local list = vim.fn.getqflist()
  check('and is in the quickfix list', #list > 0, list)
  for _, item in ipairs(list) do
    local line = vim.api.nvim_buf_get_lines(item.bufnr, item.lnum - 1, item.lnum, false)[1] or ''
    local found = item.text == '(removed)' or line:find(item.text, 1, true)
    check('at its line: ' .. item.text, found, line)
  end
  vim.cmd('silent undo')
end

local function missing(client)
  client:stop()
  wait('the server ends', function()
    return client:is_stopped()
  end)
  vim.lsp.config('unsnarl', { cmd = { 'no-such-unsnarl', 'lsp' } })
  local said = told(function()
    vim.cmd('edit')
  end)
  check('a missing binary is named', said:find('`no-such-unsnarl` was not found', 1, true) ~= nil, said)
  said = told(function()
    vim.cmd('Unsnarl explain')
  end)
  check('by commands, too', said:find('not running: `no-such-unsnarl` was not found', 1, true) ~= nil, said)
  vim.cmd('checkhealth unsnarl')
  local health = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  check('and by checkhealth', health:find('ERROR `no%-such%-unsnarl` was not found') ~= nil, health)
  check('which does not ask for another file', not health:find('open a C or C++ file', 1, true), health)
end

rig.main(function()
  -- All lines of the source are to be drawn.
  vim.o.lines = 60
  check('the plugin is there', vim.fn.exists(':Unsnarl') == 2)
  check('its help, too', #vim.api.nvim_get_runtime_file('doc/unsnarl.txt', true) == 1)
  local client = rig.client()
  check('suggested keys are mapped when wanted', vim.fn.maparg(']u', 'n') == '<Plug>(unsnarl-next)')
  hints(client)
  lenses()
  explanation()
  refuted()
  menu()
  missing(client)
end)
