--- Fixes: what one has changed, and the actions that do not fit into the menu.
local M = {}

--- Shows the changed places in the quickfix list, with what to do next.
---@param title string
---@param places { location: lsp.Location, text: string }[]
---@param client vim.lsp.Client
function M.applied(title, places, client)
  local items, files = {}, {}
  for _, place in ipairs(places) do
    local item = vim.lsp.util.locations_to_items({ place.location }, client.offset_encoding)[1]
    items[#items + 1] = vim.tbl_extend('force', item, { text = place.text })
    files[vim.fs.basename(item.filename)] = true
  end
  vim.fn.setqflist({}, ' ', { title = title, items = items })
  local names = table.concat(vim.tbl_keys(files), ', ')
  local text = 'unsnarl: changed %d place%s in %s, see :copen; build and record again to see that it holds'
  vim.notify(text:format(#items, #items == 1 and '' or 's', names))
end

--- Does what a code action says: its edit, then its command.
---@param action lsp.CodeAction
---@param client vim.lsp.Client
local function apply(action, client)
  if action.disabled then
    vim.notify('unsnarl: ' .. action.disabled.reason, vim.log.levels.WARN)
    return
  end
  if action.edit then
    vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding)
  end
  if action.command then
    client:exec_cmd(action.command, { bufnr = vim.api.nvim_get_current_buf() })
  end
end

--- Lets the user choose among actions.
---@param actions lsp.CodeAction[]
---@param client vim.lsp.Client
function M.more(actions, client)
  vim.ui.select(actions, {
    prompt = 'unsnarl',
    kind = 'codeaction',
    format_item = function(action)
      return (action.title:gsub('^unsnarl: ', '')) .. (action.disabled and ' (disabled)' or '')
    end,
  }, function(action)
    if action then
      apply(action, client)
    end
  end)
end

return M
