--- The subcommands of `:Unsnarl`.
local M = {}

local ask = require('unsnarl.request').ask

--- Shows lines in a split that goes away with `q`.
---@param lines string[]
local function show(lines)
  vim.cmd('botright new')
  local bufnr = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, true, lines)
  vim.bo[bufnr].buftype, vim.bo[bufnr].bufhidden, vim.bo[bufnr].swapfile = 'nofile', 'wipe', false
  vim.bo[bufnr].modifiable, vim.bo[bufnr].filetype = false, 'unsnarl'
  vim.api.nvim_win_set_height(0, math.min(#lines, math.floor(vim.o.lines / 2)))
  vim.keymap.set('n', 'q', '<cmd>close<cr>', { buffer = bufnr, desc = 'Close the explanations' })
end

local commands = {}

function commands.explain()
  ask('unsnarl/explanations', nil, function(result)
    local texts = vim.tbl_map(function(explanation)
      return vim.trim(explanation.text)
    end, result.explanations)
    if #texts == 0 then
      commands.status()
      return
    end
    show(vim.split(table.concat(texts, '\n\n'), '\n'))
  end)
end

function commands.status()
  ask('unsnarl/status', nil, function(result)
    local level = result.health == 'ok' and vim.log.levels.INFO or vim.log.levels.WARN
    vim.notify('unsnarl: ' .. result.message, level)
  end)
end

function commands.next()
  require('unsnarl.jump').step('next')
end

function commands.previous()
  require('unsnarl.jump').step('previous')
end

function commands.jump()
  require('unsnarl.jump').choose()
end

function commands.steps()
  require('unsnarl.steps').quickfix()
end

function commands.select()
  require('unsnarl.steps').select()
end

--- Shows the order that fails beside one that passes.
function commands.dsp()
  require('unsnarl.dsp').show()
end

--- Runs the program of the selected explanation again, in the background, to confirm it and to try its fixes. From
--- then on that is done for all of the project until Neovim ends.
function commands.confirm()
  ask('workspace/executeCommand', { command = 'unsnarl.confirm' }, function() end)
end

function commands.record()
  require('unsnarl.terminal').record()
end

function commands.replay()
  require('unsnarl.terminal').replay()
end

function commands.verify()
  require('unsnarl.terminal').verify()
end

--- Shows or hides the hints of unsnarl at the ends of lines.
function commands.hints()
  local hints = require('unsnarl.hints')
  hints.enable(not hints.are_enabled())
end

--- Calls an explanation harmless, once the user has said why; the server writes it down.
---@param id string
function M.suppress(id)
  vim.ui.input({ prompt = 'Why is this harmless? ' }, function(reason)
    if reason and vim.trim(reason) ~= '' then
      local arguments = { id, vim.trim(reason) }
      ask('workspace/executeCommand', { command = 'unsnarl.suppress', arguments = arguments }, function() end)
    end
  end)
end

--- Runs a subcommand.
---@param words string[]
function M.run(words)
  local command = commands[words[1]]
  if command then
    command()
  else
    local known = table.concat(M.complete(''), ', ')
    vim.notify(('unsnarl: there is no `:Unsnarl %s`, but %s'):format(words[1], known), vim.log.levels.ERROR)
  end
end

--- Subcommands that begin like this.
---@param lead string
---@return string[]
function M.complete(lead)
  local names = vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, vim.tbl_keys(commands))
  table.sort(names)
  return names
end

return M
