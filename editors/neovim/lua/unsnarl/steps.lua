--- The steps of the selected explanation in the quickfix list, and the selection itself.
local jump = require('unsnarl.jump')
local request = require('unsnarl.request')
local M = {}

--- Fills the quickfix list with the steps in the order in which they ran, and opens it.
function M.quickfix()
  request.ask('unsnarl/explanations', nil, function(result, client)
    local explanation = jump.selected(result)
    if not explanation then
      vim.notify('unsnarl: nothing is explained, see :Unsnarl status', vim.log.levels.WARN)
      return
    end
    local items = {}
    for at, step in ipairs(explanation.steps) do
      local location = explanation.stepLocations[at]
      local note = step.note ~= '' and (' <- ' .. step.note) or ''
      local text = ('%d. %s %s%s'):format(at, step.thread, step.effect, note)
      if type(location) == 'table' then
        local item = vim.lsp.util.locations_to_items({ location }, client.offset_encoding)[1]
        items[#items + 1] = vim.tbl_extend('force', item, { text = text })
      else
        local is_lost = vim.tbl_contains(explanation.notFound or {}, step.place.file)
        local why = is_lost and 'its file was not found: see the setting sourceMap' or 'the line changed since the run'
        items[#items + 1] = { text = ('%s (%s)'):format(text, why), valid = 0 }
      end
    end
    vim.fn.setqflist({}, ' ', { title = explanation.headline, items = items })
    vim.cmd('botright copen')
  end)
end

--- Lets the user choose the explanation of which the steps are shown.
function M.select()
  request.ask('unsnarl/explanations', nil, function(result)
    if #result.explanations == 0 then
      vim.notify('unsnarl: nothing is explained, see :Unsnarl status', vim.log.levels.WARN)
      return
    end
    vim.ui.select(result.explanations, {
      prompt = 'Show the steps of',
      kind = 'unsnarl.explanation',
      format_item = function(explanation)
        local of = type(explanation.label) == 'string' and (' (%s)'):format(explanation.label) or ''
        return (explanation.id == result.selected and '* ' or '  ') .. explanation.headline .. of
      end,
    }, function(explanation)
      if explanation then
        request.ask('unsnarl/select', { explanation = explanation.id }, function() end)
      end
    end)
  end)
end

return M
