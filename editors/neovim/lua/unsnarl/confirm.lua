--- Confirming: the program is run again in the background, and the result is told.
local jump = require('unsnarl.jump')
local progress = require('unsnarl.progress')
local request = require('unsnarl.request')
local M = {}

local fixes = { holds = 'no failure with its fix', ['not-tried'] = 'its fix could not be tried' }

--- What came of it, for a person.
---@param id string
---@param result table the answer of `unsnarl/explanations`
---@return string text
---@return integer level
local function told(id, result)
  for _, explanation in ipairs(result.explanations) do
    if explanation.id == id then
      local fix = (explanation.fixes or {})[1]
      local tried = fix and type(fix.tried) == 'table' and fixes[fix.tried.verdict]
      local suffix = tried and (', ' .. tried) or ''
      if explanation.certainty == 'confirmed' then
        return 'confirmed by running it again' .. suffix, vim.log.levels.INFO
      end
      return ('run again, and still only %s: see :Unsnarl explain%s'):format(explanation.certainty, suffix), vim.log.levels.WARN
    end
  end
  return 'refuted: when the program was run again, the failure did not depend on this', vim.log.levels.WARN
end

---@param id string
---@param client vim.lsp.Client
local function start(id, client)
  local arm = progress.follow(client, function()
    request.ask('unsnarl/explanations', nil, function(result)
      local text, level = told(id, result)
      vim.notify('unsnarl: ' .. text, level)
    end)
  end)
  progress.say('running the program again ...')
  request.ask('workspace/executeCommand', { command = 'unsnarl.confirm', arguments = { id } }, arm, function()
    progress.drop(client)
  end)
end

--- Confirms the selected explanation and tries its fixes. From then on that is done for all of the project until Neovim
--- ends.
function M.run()
  request.ask('unsnarl/explanations', nil, function(result, client)
    local explanation = jump.selected(result)
    if explanation then
      start(explanation.id, client)
    else
      vim.notify('unsnarl: nothing is explained, see :Unsnarl status', vim.log.levels.WARN)
    end
  end)
end

return M
