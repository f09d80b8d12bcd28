--- What the tests inside Neovim share: checks, waiting with a deadline, and runs that land.
local M = {}

local failed = 0

---@param ... any
function M.say(...)
  io.stdout:write(table.concat(vim.tbl_map(tostring, { ... }), ' ') .. '\n')
end

---@param what string
---@param good any
---@param seen any? what there was instead
function M.check(what, good, seen)
  if good then
    M.say('ok  ', what)
  else
    failed = failed + 1
    M.say('FAIL', what, seen == nil and '' or vim.inspect(seen))
  end
end

--- Waits until a condition holds; events are handled meanwhile.
---@param what string
---@param condition fun(): any
function M.wait(what, condition)
  M.check(what, vim.wait(30000, condition, 1))
end

--- Lets a prepared run land: it is renamed into the run folder, as the recorder does it.
---@param name string
function M.land(name)
  vim.fn.mkdir('.unsnarl/runs', 'p')
  assert(vim.uv.fs_rename('prepared/' .. name, '.unsnarl/runs/' .. name))
end

--- Takes a run back.
---@param name string
function M.take(name)
  assert(vim.uv.fs_rename('.unsnarl/runs/' .. name, 'prepared/' .. name))
end

--- The server of the current buffer, once it is ready.
---@return vim.lsp.Client
function M.client()
  local client
  M.wait('the server is attached', function()
    client = vim.lsp.get_clients({ bufnr = 0, name = 'unsnarl' })[1]
    return client and client.initialized
  end)
  return client
end

--- Runs a test and ends Neovim: status 0 when every check held.
---@param test fun()
function M.main(test)
  local fine, why = xpcall(test, debug.traceback)
  M.check('no error in Lua', fine, why)
  vim.cmd(failed == 0 and 'qall!' or 'cquit!')
end

return M
