--- Recording, replaying and verifying, in a terminal, and only when the user asks.
local jump = require('unsnarl.jump')
local progress = require('unsnarl.progress')
local request = require('unsnarl.request')
local M = {}

--- Runs unsnarl where the user can read along; hears its exit status.
---@param words string[]
---@param folder string?
---@param on_exit fun(status: integer)?
local function run(words, folder, on_exit)
  local binary = require('unsnarl.binary').path()
  if not require('unsnarl.binary').check() then
    return
  end
  vim.cmd('botright new')
  vim.api.nvim_win_set_height(0, math.floor(vim.o.lines / 3))
  vim.fn.jobstart(vim.list_extend({ binary }, words), {
    term = true,
    cwd = folder,
    on_exit = function(_, status)
      if on_exit then
        on_exit(status)
      end
    end,
  })
  vim.keymap.set('n', 'q', '<cmd>close<cr>', { buffer = 0, desc = 'Close the terminal' })
  vim.cmd('normal! G')
  vim.cmd('wincmd p')
end

--- Hands on an explanation, the selected one without an id, or says that there is none.
---@param id string?
---@param on_explanation fun(explanation: table, client: vim.lsp.Client)
local function find(id, on_explanation)
  request.ask('unsnarl/explanations', nil, function(result, client)
    result.selected = id or result.selected
    local explanation = jump.selected(result)
    if explanation then
      on_explanation(explanation, client)
    else
      vim.notify('unsnarl: nothing is explained, see :Unsnarl status', vim.log.levels.WARN)
    end
  end)
end

--- Says what came of a recording, once the server has looked at it.
---@param status integer
---@param client vim.lsp.Client
local function recorded(status, client)
  if status > 1 then
    vim.notify('unsnarl: nothing could be recorded; the terminal says why', vim.log.levels.ERROR)
    return
  end
  local result = status == 0 and 'no run failed' or 'some runs fail'
  progress.say(('recorded: %s; explaining ...'):format(result))
  progress.follow(client, function(now)
    vim.notify(('unsnarl: recorded: %s; now there are %s'):format(result, now.message))
  end)()
end

--- Records the program of the selected explanation again, until some runs fail: after a change, for instance.
function M.record()
  find(nil, function(explanation, client)
    if #explanation.command == 0 then
      vim.notify('unsnarl: the failing run cannot be read any more, so record in a shell', vim.log.levels.WARN)
      return
    end
    local words = vim.list_extend({ 'record', '--until-failing', '3', '--' }, explanation.command)
    progress.say(('recording %s ...'):format(vim.fs.basename(explanation.command[1])))
    run(words, explanation.directory, function(status)
      recorded(status, client)
    end)
  end)
end

--- Replays a run, without a name the failing one of the selected explanation.
---@param name string?
function M.replay(name)
  find(nil, function(explanation)
    name = name or (explanation.run ~= '' and explanation.run) or explanation.runs[1]
    run({ 'replay', name }, explanation.folder)
  end)
end

--- Tries the fix of an explanation, without an id that of the selected one, and says what came of it.
---@param id string?
function M.verify(id)
  find(id, function(explanation, client)
    progress.say('trying the fix ...')
    local words = { 'verify', explanation.id }
    local build = vim.tbl_get(client.settings or {}, 'unsnarl', 'buildCommand') or ''
    if build ~= '' then
      vim.list_extend(words, { '--build', build })
    end
    run(words, explanation.folder, function(status)
      if status == 0 then
        vim.notify('unsnarl: the fix holds; the terminal says in which schedules')
      elseif status == 1 then
        vim.notify('unsnarl: the fix does not hold; the terminal shows the schedule that fails', vim.log.levels.WARN)
      else
        vim.notify('unsnarl: the fix could not be tried; the terminal says why', vim.log.levels.ERROR)
      end
    end)
  end)
end

return M
