--- Inlay hints: the steps of the selected explanation and what had to hold, at the ends of lines.
local M = {}

--- Shows or hides the hints of the current buffer.
---@param enable boolean
function M.enable(enable)
  vim.lsp.inlay_hint.enable(enable, { bufnr = 0 })
end

---@return boolean
function M.are_enabled()
  return vim.lsp.inlay_hint.is_enabled({ bufnr = 0 })
end

--- Shows them in a buffer that the server was attached to, unless the user wants none.
---@param bufnr integer
function M.attach(bufnr)
  if require('unsnarl.options').get().hints then
    vim.lsp.inlay_hint.enable(true, { bufnr = bufnr })
  end
end

return M
