--- Code lenses: above a cause, what can be done with its explanation.
local M = {}

--- Shows the lenses of a buffer, unless the user wants none.
---@param bufnr integer
function M.attach(bufnr)
  if not require('unsnarl.options').get().lenses then
    return
  end
  local group = vim.api.nvim_create_augroup('unsnarl.lens', { clear = false })
  vim.api.nvim_clear_autocmds({ group = group, buffer = bufnr })
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'BufWritePost' }, {
    group = group,
    buffer = bufnr,
    callback = function()
      M.refresh(bufnr)
    end,
  })
  M.refresh(bufnr)
end

---@param bufnr integer
function M.refresh(bufnr)
  if #vim.lsp.get_clients({ name = 'unsnarl', bufnr = bufnr }) > 0 then
    vim.lsp.codelens.refresh({ bufnr = bufnr })
  end
end

--- Shows the lenses of all buffers of a client again: what is explained has changed.
---@param client vim.lsp.Client
function M.refresh_all(client)
  if require('unsnarl.options').get().lenses then
    for bufnr in pairs(client.attached_buffers) do
      M.refresh(bufnr)
    end
  end
end

--- Lets the user choose among the lenses of the cursor's line.
function M.run()
  vim.lsp.codelens.run()
end

return M
