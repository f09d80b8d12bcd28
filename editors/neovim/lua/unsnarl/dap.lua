--- Debugging with nvim-dap: the failing run of an explanation under gdb, by `unsnarl dap`. Nothing of this needs
--- nvim-dap to be there.
local M = {}

local TYPE = 'unsnarl'

--- nvim-dap, if it is installed.
---@return table?
local function nvim_dap()
  local found, dap = pcall(require, 'dap')
  return found and dap or nil
end

--- The selected explanation, or the one with an id, and the folder of its runs.
---@param id string?
---@return table? explanation
---@return string? folder
local function find(id)
  for _, client in ipairs(vim.lsp.get_clients({ name = 'unsnarl' })) do
    ---@diagnostic disable-next-line: param-type-mismatch a method of our own
    local response = client:request_sync('unsnarl/explanations', nil, 5000)
    local result = response and response.result
    for _, explanation in ipairs(result and result.explanations or {}) do
      if explanation.id == (id or result.selected) then
        return explanation, explanation.folder
      end
    end
  end
  vim.notify('unsnarl: no failing run is explained yet, so there is none to debug', vim.log.levels.WARN)
end

--- A launch configuration of an explanation.
---@param id string?
---@return table?
local function configuration(id)
  local explanation, folder = find(id)
  if not explanation then
    return nil
  end
  local run = explanation.run ~= '' and explanation.run or explanation.runs[1]
  return {
    type = TYPE,
    request = 'launch',
    name = 'unsnarl: ' .. explanation.headline,
    run = ('%s/%s.arrow'):format(require('unsnarl.options').get().runs_folder, run),
    explanation = explanation.id,
    cwd = folder,
  }
end

--- Tells nvim-dap of the adapter and of a configuration for C and C++. Without nvim-dap it does nothing.
---@return boolean registered
function M.register()
  local dap = nvim_dap()
  if not dap then
    return false
  end
  if dap.adapters[TYPE] then
    return true
  end
  dap.adapters[TYPE] = { type = 'executable', command = require('unsnarl.binary').path(), args = { 'dap' } }
  local selected = setmetatable({ type = TYPE, request = 'launch', name = 'unsnarl: failing run of the selected explanation' }, {
    -- nvim-dap calls this when the configuration is chosen.
    __call = function(own)
      return configuration() or vim.tbl_extend('error', {}, own)
    end,
  })
  for _, language in ipairs({ 'c', 'cpp' }) do
    dap.configurations[language] = dap.configurations[language] or {}
    table.insert(dap.configurations[language], selected)
  end
  return true
end

--- Debugs the failing run of the selected explanation, or of the one with an id.
---@param id string?
function M.run(id)
  if not M.register() then
    vim.notify('unsnarl: debugging needs nvim-dap, see :help unsnarl-debug', vim.log.levels.WARN)
    return
  end
  local config = configuration(id)
  if config then
    require('dap').run(config)
  end
end

--- Sends a request of the adapter's own to the session.
---@param request string
function M.tell(request)
  local dap = nvim_dap()
  local session = dap and dap.session()
  if not session or session.config.type ~= TYPE then
    vim.notify('unsnarl: no run is being debugged', vim.log.levels.WARN)
    return
  end
  session:request('unsnarl/' .. request, vim.empty_dict(), function(err)
    if err then
      vim.notify('unsnarl: ' .. (err.message or tostring(err)), vim.log.levels.WARN)
    end
  end)
end

return M
