--- Confirming: the program is run again in the background, and the result is told.
local jump = require('unsnarl.jump')
local progress = require('unsnarl.progress')
local request = require('unsnarl.request')
local M = {}

local fixes = { holds = 'no failure with its fix', ['not-tried'] = 'its fix could not be tried' }

--- Another explanation of a run that was explained: experiments may speak for another cause.
---@param asked table the explanation that was to be confirmed
---@param result table the answer of `unsnarl/explanations`
---@return table? explanation
local function instead(asked, result)
  for _, explanation in ipairs(result.explanations) do
    for _, run in ipairs(explanation.runs) do
      if vim.tbl_contains(asked.runs, run) then
        return explanation
      end
    end
  end
end

--- What came of it, for a person.
---@param asked table the explanation that was to be confirmed
---@param result table the answer of `unsnarl/explanations`
---@return string text
---@return integer level
function M.told(asked, result)
  for _, explanation in ipairs(result.explanations) do
    if explanation.id == asked.id then
      local fix = (explanation.fixes or {})[1]
      local tried = fix and type(fix.tried) == 'table' and fixes[fix.tried.verdict]
      local suffix = tried and (', ' .. tried) or ''
      if explanation.certainty == 'confirmed' then
        return 'confirmed by running it again' .. suffix, vim.log.levels.INFO
      end
      return ('run again, and still only %s: see :Unsnarl explain%s'):format(explanation.certainty, suffix), vim.log.levels.WARN
    end
  end
  local other = instead(asked, result)
  if other then
    return ('run again, and another cause fits better: %s'):format(other.headline), vim.log.levels.INFO
  end
  return ('refuted: when the program was run again, the failure did not depend on this: %s'):format(asked.headline), vim.log.levels.WARN
end

---@param asked table the explanation to confirm
---@param client vim.lsp.Client
local function start(asked, client)
  local arm = progress.follow(client, function()
    request.ask('unsnarl/explanations', nil, function(result)
      local text, level = M.told(asked, result)
      vim.notify('unsnarl: ' .. text, level)
    end)
  end)
  progress.say('running the program again ...')
  request.ask('workspace/executeCommand', { command = 'unsnarl.confirm', arguments = { asked.id } }, arm, function()
    progress.drop(client)
  end)
end

--- Confirms the selected explanation and tries its fixes. From then on that is done for all of the project until Neovim
--- ends.
function M.run()
  request.ask('unsnarl/explanations', nil, function(result, client)
    local explanation = jump.selected(result)
    if explanation then
      start(explanation, client)
    else
      vim.notify('unsnarl: nothing is explained, see :Unsnarl status', vim.log.levels.WARN)
    end
  end)
end

return M
