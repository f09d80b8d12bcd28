--- Progress of work that the user has asked for, and a closing message. What the server does by itself is reported as
--- |LspProgress| only.
local M = {}

---@class unsnarl.Followed
---@field armed boolean The work was begun.
---@field on_end fun(status: table)

--- Work that is under way, by client.
---@type table<integer, unsnarl.Followed>
local followed = {}

---@param text string
function M.say(text)
  vim.api.nvim_echo({ { 'unsnarl: ' .. text } }, false, {})
end

--- Asks whether the server is done; then the work is at its end.
---@param client vim.lsp.Client
local function look(client)
  ---@diagnostic disable-next-line: param-type-mismatch a method of our own
  client:request('unsnarl/status', nil, function(err, status)
    local work = followed[client.id]
    if work and work.armed and not err and status.quiescent then
      followed[client.id] = nil
      work.on_end(status)
    end
  end)
end

--- Reports the progress of a client until it has nothing left to do, then calls `on_end` with its status. The returned
--- function has to be called when the work was begun.
---@param client vim.lsp.Client
---@param on_end fun(status: table)
---@return fun() arm
function M.follow(client, on_end)
  local work = { armed = false, on_end = on_end }
  followed[client.id] = work
  return function()
    work.armed = true
    look(client)
  end
end

--- Gives work up that could not be begun.
---@param client vim.lsp.Client
function M.drop(client)
  followed[client.id] = nil
end

--- Handles the server's word that its status has changed. Others hear of it by |User| UnsnarlStatusChanged.
---@param ctx lsp.HandlerContext
function M.on_status_changed(_, _, ctx)
  local client = vim.lsp.get_client_by_id(ctx.client_id)
  if client then
    require('unsnarl.lens').refresh_all(client)
    if followed[client.id] then
      look(client)
    end
  end
  vim.api.nvim_exec_autocmds('User', { pattern = 'UnsnarlStatusChanged', modeline = false })
end

--- Shows the progress of what is followed.
function M.install()
  vim.api.nvim_create_autocmd('LspProgress', {
    group = vim.api.nvim_create_augroup('unsnarl.progress', {}),
    callback = function(event)
      local value = vim.tbl_get(event.data, 'params', 'value')
      if followed[event.data.client_id] and value and value.message then
        M.say(value.message .. ' ...')
      end
    end,
  })
end

return M
