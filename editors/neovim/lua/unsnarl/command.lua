--- The subcommands of `:Unsnarl`.
local M = {}

local ask = require('unsnarl.request').ask

--- Columns that signs and numbers may take from a text.
local GUTTER = 4

--- Shows all explanations as text; what there is instead when nothing is explained.
local function explain()
  ask('unsnarl/explanations', nil, function(result, client)
    if #result.explanations == 0 then
      M.run({ 'status' })
      return
    end
    ask('unsnarl/texts', { columns = vim.o.columns - GUTTER }, function(texts)
      M.show(result.explanations, texts, client)
    end)
  end)
end

--- Shows explanations in a scratch buffer, in the width of the screen.
---@param explanations table[]
---@param texts table[] the answer of `unsnarl/texts`
---@param client vim.lsp.Client
function M.show(explanations, texts, client)
  local scratch = require('unsnarl.scratch')
  local within = {}
  for _, one in ipairs(texts) do
    within[one.explanation] = one.text
  end
  local lines, places = {}, {}
  for at, explanation in ipairs(explanations) do
    local own = scratch.places(explanation)
    local text = vim.trim(within[explanation.id] or explanation.text)
    if type(explanation.label) == 'string' then
      text = ('Runs of %s:\n%s'):format(explanation.label, text)
    end
    for _, line in ipairs(vim.split((at == 1 and '' or '\n') .. text, '\n')) do
      lines[#lines + 1] = line
      places[#lines] = own
    end
  end
  local bufnr = scratch.open('unsnarl://explanations', lines)
  scratch.map_places(bufnr, function(row)
    return places[row]
  end, client)
end

local function status()
  ask('unsnarl/status', nil, function(result)
    local level = result.health == 'ok' and vim.log.levels.INFO or vim.log.levels.WARN
    vim.notify('unsnarl: ' .. result.message, level)
  end)
end

local function hints()
  local all = require('unsnarl.hints')
  all.enable(not all.are_enabled())
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

--- The same for the selected explanation.
local function suppress()
  ask('unsnarl/explanations', nil, function(result)
    if type(result.selected) == 'string' then
      M.suppress(result.selected)
    else
      vim.notify('unsnarl: nothing is explained, see :Unsnarl status', vim.log.levels.WARN)
    end
  end)
end

--- Calls a function of a module that is loaded only then.
---@param name string
---@param what string
---@param ... any
local function lazily(name, what, ...)
  local arguments = { ... }
  return function()
    require(name)[what](unpack(arguments))
  end
end

---@class unsnarl.Command
---@field name string
---@field help string What it does, as the help says it.
---@field runs boolean? It runs the user's program.
---@field run fun()

--- The subcommands, declared once: completion and help are made of this.
---@type unsnarl.Command[]
M.all = {
  { name = 'explain', run = explain, help = 'All explanations in a split: `<CR>` goes to the place that a line names, `q` closes it.' },
  { name = 'status', run = status, help = 'One line: how many runs were read, and what is wrong.' },
  {
    name = 'steps',
    run = lazily('unsnarl.steps', 'quickfix'),
    help = 'The steps of the selected explanation, in the order in which they ran, in the |quickfix| list.',
  },
  {
    name = 'next',
    run = lazily('unsnarl.jump', 'step', 'next'),
    help = 'Go to the next step; from a line that is none, to the first.',
  },
  {
    name = 'previous',
    run = lazily('unsnarl.jump', 'step', 'previous'),
    help = 'Go to the step before; from a line that is none, to the last.',
  },
  {
    name = 'jump',
    run = lazily('unsnarl.jump', 'choose'),
    help = 'Go to a connected line: to what came next or before in the failing run or in passing ones, or '
      .. 'where a value came from. Asks where there are several.',
  },
  {
    name = 'dsp',
    run = lazily('unsnarl.dsp', 'show'),
    help = 'The order that fails beside one that passes, in two windows: |unsnarl-dsp|.',
  },
  {
    name = 'select',
    run = lazily('unsnarl.steps', 'select'),
    help = 'Choose the explanation of which the steps are shown.',
  },
  {
    name = 'suppress',
    run = suppress,
    help = 'Call the selected explanation harmless, with the reason: it is written into .unsnarl-suppressions.toml.',
  },
  {
    name = 'lens',
    run = lazily('unsnarl.lens', 'run'),
    help = 'Choose among the code lenses of this line: what can be done with its explanation.',
  },
  { name = 'hints', run = hints, help = 'Show or hide the hints at the ends of lines.' },
  {
    name = 'confirm',
    run = lazily('unsnarl.confirm', 'run'),
    help = 'Run the program again in the background, to confirm the explanations and to try their fixes; from then on '
      .. 'in this project until Neovim ends.',
  },
  {
    name = 'record',
    run = lazily('unsnarl.terminal', 'record'),
    runs = true,
    help = 'Record the program of the selected explanation again, until some runs fail: after a change, for instance.',
  },
  { name = 'replay', run = lazily('unsnarl.terminal', 'replay'), runs = true, help = 'Replay its failing run.' },
  {
    name = 'debug',
    run = lazily('unsnarl.dap', 'run'),
    help = 'Debug the failing run of the selected explanation with nvim-dap: |unsnarl-debug|.',
  },
  {
    name = 'debug-next',
    run = lazily('unsnarl.dap', 'tell', 'nextStep'),
    help = 'While debugging: run to the next step of the explanation.',
  },
  {
    name = 'debug-previous',
    run = lazily('unsnarl.dap', 'tell', 'previousStep'),
    help = 'While debugging: run back to the previous step.',
  },
  {
    name = 'debug-failure',
    run = lazily('unsnarl.dap', 'tell', 'runToFailure'),
    help = 'While debugging: run to the failure.',
  },
  {
    name = 'debug-no-return',
    run = lazily('unsnarl.dap', 'tell', 'pointOfNoReturn'),
    help = 'While debugging: run to the step after which every continuation fails.',
  },
  {
    name = 'debug-passing',
    run = lazily('unsnarl.dap', 'tell', 'passingSide'),
    help = 'While debugging: go on in the nearest passing run, at the first of the same steps.',
  },
  {
    name = 'debug-failing',
    run = lazily('unsnarl.dap', 'tell', 'failingSide'),
    help = 'While debugging: return to the failing run.',
  },
  {
    name = 'verify',
    run = lazily('unsnarl.terminal', 'verify'),
    runs = true,
    help = 'Try its fix, and say whether it holds.',
  },
}

--- Runs a subcommand.
---@param words string[]
function M.run(words)
  local command = vim.iter(M.all):find(function(one)
    return one.name == words[1]
  end)
  if command then
    command.run()
  else
    local known = table.concat(M.complete(''), ', ')
    vim.notify(('unsnarl: there is no `:Unsnarl %s`, but %s'):format(words[1], known), vim.log.levels.ERROR)
  end
end

--- Subcommands that begin like this.
---@param lead string
---@return string[]
function M.complete(lead)
  local names = {}
  for _, command in ipairs(M.all) do
    if vim.startswith(command.name, lead) then
      names[#names + 1] = command.name
    end
  end
  table.sort(names)
  return names
end

return M
