--- Requests to the language server.
local M = {}

--- The client of the current buffer, or any of another buffer; none that is about to end.
---@return vim.lsp.Client?
local function client()
  for _, filter in ipairs({ { name = 'unsnarl', bufnr = 0 }, { name = 'unsnarl' } }) do
    for _, one in ipairs(vim.lsp.get_clients(filter)) do
      if not one:is_stopped() then
        return one
      end
    end
  end
end

--- Asks, and hands on what is answered; says so when nobody can be asked.
---@param method string
---@param params table?
---@param on_result fun(result: table, client: vim.lsp.Client)
---@param on_error fun()?
function M.ask(method, params, on_result, on_error)
  local server = client()
  if not server then
    local why = require('unsnarl.binary').problem() or 'open a C or C++ file'
    vim.notify(('unsnarl is not running: %s, or see :checkhealth unsnarl'):format(why), vim.log.levels.WARN)
    return
  end
  ---@diagnostic disable-next-line: param-type-mismatch a method of our own
  server:request(method, params, function(err, result)
    if err then
      vim.notify('unsnarl: ' .. err.message, vim.log.levels.ERROR)
      if on_error then
        on_error()
      end
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
