-- What a user sees: nvim --headless --clean -u init.lua bank.c -c 'luafile spec.lua'
package.path = vim.env.UNSNARL_TEST_PLUGIN .. '/tests/?.lua;' .. package.path
local rig = require('rig')
local check, wait = rig.check, rig.wait

local HEADLINE = "another thread's update of `balance` was lost"
local ERROR, HINT = vim.diagnostic.severity.ERROR, vim.diagnostic.severity.HINT

--- Line (from 1) and severity of every diagnostic of the buffer that is about the failure, in order: those of a fix come
--- when it does.
local function marks()
  local all = vim.tbl_filter(function(d)
    return not vim.startswith(d.message, 'a fix changes this line')
  end, vim.diagnostic.get(0))
  all = vim.tbl_map(function(d)
    return { d.lnum + 1, d.severity }
  end, all)
  table.sort(all, function(a, b)
    return a[1] < b[1]
  end)
  return all
end

---@param down integer
local function expected(down)
  return { { 6 + down, HINT }, { 12 + down, ERROR }, { 16 + down, ERROR }, { 24 + down, ERROR } }
end

---@param down integer
local function shown(down)
  return function()
    return vim.deep_equal(marks(), expected(down))
  end
end

--- Debugging without nvim-dap, and what it is told where it is there: by a stand-in, since it cannot be fetched here.
local function debugging()
  local debug = require('unsnarl.dap')
  check('without nvim-dap there is nothing to register', not debug.register())
  local started, requested
  local session = { config = { type = 'unsnarl' } }
  function session.request(_, command)
    requested = command
  end
  package.loaded.dap = {
    adapters = {},
    configurations = {},
    run = function(config)
      started = config
    end,
    session = function()
      return session
    end,
  }
  vim.cmd('Unsnarl debug')
  local dap = package.loaded.dap
  check('the adapter is registered', vim.deep_equal(dap.adapters.unsnarl.args, { 'dap' }), dap.adapters)
  check('the failing run is debugged', started and started.run == '.unsnarl/runs/failing.arrow', started)
  local chosen = getmetatable(dap.configurations.c[1]).__call(dap.configurations.c[1])
  check('by choosing its configuration, too', vim.deep_equal(chosen, started), chosen)
  vim.cmd('Unsnarl debug-previous')
  check('the session is told to go back', requested == 'unsnarl/previousStep', requested)
  package.loaded.dap = nil
end

--- Text of the floating window that an action opens.
---@param open fun(): integer?
local function float(what, open)
  local before = vim.api.nvim_list_wins()
  open()
  local text
  wait(what .. ' opens', function()
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      if not vim.tbl_contains(before, win) and vim.api.nvim_win_get_config(win).relative ~= '' then
        text = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false), '\n')
        vim.api.nvim_win_close(win, true)
        return true
      end
    end
  end)
  return text or ''
end

---@param text string
---@param ... string
local function holds(what, text, ...)
  for _, part in ipairs({ ... }) do
    check(what .. ': ' .. part, text:find(part, 1, true), text)
  end
end

--- Another server of the same buffer, as clangd is: with a hover and columns in units of its own.
local function start_other()
  local function request(method, _, callback)
    local answers = {
      initialize = { capabilities = { hoverProvider = true, positionEncoding = 'utf-16' } },
      ['textDocument/hover'] = { contents = { kind = 'markdown', value = 'int balance' } },
    }
    callback(nil, answers[method])
    return true, 1
  end
  local closing = false
  local function stop()
    closing = true
  end
  local id = vim.lsp.start({
    name = 'other',
    cmd = function()
      return {
        request = request,
        notify = function() end,
        is_closing = function()
          return closing
        end,
        terminate = stop,
      }
    end,
  })
  return assert(vim.lsp.get_client_by_id(assert(id)))
end

--- Labels of the buffer's inlay hints by line (from 1).
local function hints()
  local labels = {}
  for _, item in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
    labels[item.inlay_hint.position.line + 1] = item.inlay_hint.label
  end
  return labels
end

--- The help, which is made from what is declared, makes valid tags; what it says of mappings is so.
local function help_is_right()
  local folder = vim.fs.joinpath(vim.env.UNSNARL_TEST_PLUGIN, 'doc')
  local copy = vim.fs.joinpath(vim.fn.getcwd(), 'help')
  vim.fn.mkdir(copy)
  local lines = vim.fn.readfile(vim.fs.joinpath(folder, 'unsnarl.txt'))
  vim.fn.writefile(lines, vim.fs.joinpath(copy, 'unsnarl.txt'))
  local made, why = pcall(vim.cmd.helptags, copy)
  check('the help has valid tags', made, why)
  for _, name in ipairs(vim.fn.getcompletion('Unsnarl ', 'cmdline')) do
    check('there is a mapping for ' .. name, vim.fn.maparg(('<Plug>(unsnarl-%s)'):format(name), 'n') ~= '')
  end
end

rig.main(function()
  help_is_right()
  rig.say('Neovim', vim.version())
  local client = rig.client()
  check('no marks before the first run', #marks() == 0)

  rig.land('failing.arrow')
  wait('marks at the lines of the bug', shown(0))
  for _, d in ipairs(vim.diagnostic.get(0)) do
    check('source and code', d.source == 'unsnarl' and d.code == 'atomicity-violation', d)
  end
  holds('message', vim.diagnostic.get(0, { lnum = 11 })[1].message, HEADLINE)
  holds('hint', vim.diagnostic.get(0, { lnum = 5 })[1].message, 'step 2 of 4', 'main.1', '500')

  vim.api.nvim_win_set_cursor(0, { 16, 6 })
  holds('hover', float('the hover', vim.lsp.buf.hover), 'main.2', 'wrote 250', 'main.1')
  holds('float', float('the diagnostic float', vim.diagnostic.open_float), HEADLINE, 'bank.c:6', 'writes balance = 500')

  local other = start_other()
  vim.cmd('messages clear')
  holds('hover beside another server', float('the common hover', vim.lsp.buf.hover), 'int balance', 'wrote 250')
  local messages = vim.api.nvim_exec2('messages', { output = true }).output
  check('no complaint about two servers', messages == '', messages)
  other:stop(true)

  vim.api.nvim_buf_set_lines(0, 0, 0, true, { '// two', '// lines' })
  wait('marks follow an unsaved edit', shown(2))
  vim.cmd('undo')
  wait('and its undoing', shown(0))

  wait('hints at the ends of the lines of the bug', function()
    return vim.deep_equal(hints(), {
      [6] = '(2) main.1 writes 500',
      [12] = '(1) main.2 reads 300',
      [16] = '(3) main.2 writes 250',
      [24] = '(4) main reads 250, fails',
    })
  end)
  vim.cmd('Unsnarl hints')
  check('hints go when asked', not vim.lsp.inlay_hint.is_enabled({ bufnr = 0 }))
  vim.cmd('Unsnarl hints')

  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  for at, line in ipairs({ 12, 6, 16, 24 }) do
    vim.cmd('Unsnarl next')
    wait('step ' .. at .. ' is reached', function()
      return vim.api.nvim_win_get_cursor(0)[1] == line
    end)
  end
  vim.api.nvim_feedkeys(vim.keycode('<Plug>(unsnarl-previous)'), 'x', false)
  wait('and the one before', function()
    return vim.api.nvim_win_get_cursor(0)[1] == 16
  end)
  local offered
  local ui_select = vim.ui.select
  vim.ui.select = function(items, options, on_choice)
    offered = vim.tbl_map(options.format_item, items)
    on_choice(items[1])
  end
  vim.cmd('Unsnarl jump')
  wait('edges are offered', function()
    return offered
  end)
  vim.ui.select = ui_select
  holds('edges', table.concat(offered or {}, '\n'), 'step 4: main reads', 'step 2: main.1 writes balance = 500')
  wait('and the first is gone along', function()
    return vim.api.nvim_win_get_cursor(0)[1] == 24
  end)

  vim.cmd('Unsnarl steps')
  wait('the steps are in the quickfix list', function()
    return #vim.fn.getqflist() == 4
  end)
  local lines = vim.tbl_map(function(item)
    return item.lnum
  end, vim.fn.getqflist())
  check('in the order in which they ran', vim.deep_equal(lines, { 12, 6, 16, 24 }), lines)
  holds('with what they did', vim.fn.getqflist()[2].text, '2. main.1 writes 500 <- in between')
  vim.cmd('cclose')

  vim.cmd('Unsnarl explain')
  wait(':Unsnarl explain opens a split', function()
    return vim.bo.filetype == 'unsnarl'
  end)
  holds('explanation', table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'), HEADLINE, 'writes 500')
  vim.cmd('close')

  local told
  local notify = vim.notify
  vim.notify = function(message)
    told = message
  end
  vim.cmd('Unsnarl status')
  wait(':Unsnarl status answers', function()
    -- Until the runs have been looked at it says that.
    if told and told:find('analysing', 1, true) then
      told = nil
      vim.cmd('Unsnarl status')
    end
    return told
  end)
  vim.notify = notify
  holds('status', told or '', '1 run, 1 failing, 1 explanation')
  check('completion', vim.deep_equal(vim.fn.getcompletion('Unsnarl ', 'cmdline'), { 'confirm', 'debug', 'debug-failing', 'debug-failure', 'debug-next', 'debug-no-return', 'debug-passing', 'debug-previous', 'dsp', 'explain', 'hints', 'jump', 'lens', 'next', 'previous', 'record', 'replay', 'select', 'status', 'steps', 'suppress', 'verify' }))

  debugging()

  vim.ui.input = function(_, on_reason)
    on_reason('only a test')
  end
  vim.cmd('Unsnarl suppress')
  wait('what is called harmless has no marks', function()
    return #marks() == 0
  end)
  check('and the reason is written down', table.concat(vim.fn.readfile('.unsnarl-suppressions.toml'), '\n'):find('only a test', 1, true))
  assert(vim.uv.fs_unlink('.unsnarl-suppressions.toml'))
  wait('without it the marks come back', shown(0))

  vim.cmd('checkhealth unsnarl')
  local health = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  check('checkhealth finds nothing wrong', not health:find('ERROR') and not health:find('WARNING'), health)
  holds('checkhealth', health, 'running for', 'runs are read from', '1 run, 1 failing')
  vim.cmd('close')

  rig.take('failing.arrow')
  wait('marks go with the run', function()
    return #marks() == 0
  end)

  client:stop()
  wait('the server ends', function()
    return client:is_stopped()
  end)
end)
