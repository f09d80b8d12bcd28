--- Requests to the language server.
local M = {}

--- The client of the current buffer, or any of another buffer.
---@return vim.lsp.Client?
local function client()
  local here = vim.lsp.get_clients({ name = 'unsnarl', bufnr = 0 })[1]
  return here or vim.lsp.get_clients({ name = 'unsnarl' })[1]
end

--- Asks, and hands on what is answered; says so when nobody can be asked.
---@param method string
---@param params table?
---@param on_result fun(result: table, client: vim.lsp.Client)
function M.ask(method, params, on_result)
  local server = client()
  if not server then
    vim.notify('unsnarl is not running: open a C or C++ file, or see :checkhealth unsnarl', vim.log.levels.WARN)
    return
  end
  ---@diagnostic disable-next-line: param-type-mismatch a method of our own
  server:request(method, params, function(err, result)
    if err then
      vim.notify('unsnarl: ' .. err.message, vim.log.levels.ERROR)
    else
      on_result(result, server)
    end
  end)
end

--- Asks about the place of the cursor.
---@param method string
---@param on_result fun(result: table, client: vim.lsp.Client)
function M.ask_here(method, on_result)
  local server = client()
  local params = server and vim.lsp.util.make_position_params(0, server.offset_encoding)
  M.ask(method, params, on_result)
end

return M
