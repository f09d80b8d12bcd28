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

--- Handles the server's request to ask for hints again. Neovim asks for the buffers that are in windows only: the others
--- would show old hints when they come back.
---@param err lsp.ResponseError?
---@param ctx lsp.HandlerContext
function M.on_refresh(err, _, ctx)
  for _, bufnr in ipairs(err and {} or vim.lsp.get_buffers_by_client_id(ctx.client_id)) do
    if vim.lsp.inlay_hint.is_enabled({ bufnr = bufnr }) then
      vim.lsp.inlay_hint.enable(true, { bufnr = bufnr })
    end
  end
  return vim.NIL
end

--- The last answer for each buffer.
---@type table<integer, lsp.InlayHint[]>
local last = {}

--- Handles hints. Neovim 0.11 notes for each line that it is drawn, and forgets that when it asks, not when the answer
--- comes: a line that is drawn in between, or with the hints of another server, keeps what it shows. Asking once more
--- after an answer that is new makes it draw what it then has.
---@param err lsp.ResponseError?
---@param result lsp.InlayHint[]?
---@param ctx lsp.HandlerContext
function M.on_hints(err, result, ctx)
  local answer = vim.deepcopy(result)
  vim.lsp.handlers['textDocument/inlayHint'](err, result, ctx)
  if err or not answer or vim.deep_equal(last[ctx.bufnr], answer) then
    return
  end
  last[ctx.bufnr] = answer
  vim.lsp.handlers['workspace/inlayHint/refresh'](nil, nil, ctx)
end

return M
