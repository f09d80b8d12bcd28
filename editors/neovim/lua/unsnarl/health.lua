--- `:checkhealth unsnarl`.
local M = {}

local health = vim.health

---@return boolean usable
local function check_binary()
  local reason, advice = require('unsnarl.binary').problem()
  if reason then
    health.error(reason, advice)
    return false
  end
  if type(vim.lsp.config.unsnarl.cmd) == 'function' then
    health.ok('the server is started by a function of your own')
    return true
  end
  local path = vim.fn.exepath(require('unsnarl.binary').path())
  local found, result = pcall(function()
    return vim.system({ path, '--version' }, { text = true }):wait(5000)
  end)
  if found and result.code == 0 then
    health.ok(('%s (%s)'):format(path, vim.trim(result.stdout)))
  else
    health.error(('`%s --version` fails'):format(path), { 'Build and install unsnarl again.' })
  end
  return true
end

local function check_options()
  local complaints = require('unsnarl.options').complaints()
  for _, complaint in ipairs(complaints) do
    health.warn(complaint)
  end
  if #complaints == 0 then
    health.ok('the options of vim.g.unsnarl are right')
  end
end

---@param client vim.lsp.Client
local function check_client(client)
  local buffers = vim.tbl_count(client.attached_buffers)
  health.ok(('running for %s, %d buffers'):format(client.root_dir or 'no folder', buffers))
  ---@diagnostic disable-next-line: param-type-mismatch a method of our own
  local response = client:request_sync('unsnarl/status', nil, 2000)
  if not response or response.err then
    health.error('the server does not answer', { 'Look into `:lua vim.cmd.edit(vim.lsp.log.get_filename())`, then restart Neovim.' })
    return
  end
  local status = response.result
  local report = status.health == 'ok' and health.ok or health.warn
  report(status.message)
  for _, broken in ipairs(status.broken) do
    health.warn(broken.reason)
  end
  for _, folder in ipairs(status.folders) do
    if vim.uv.fs_stat(folder) then
      health.ok('runs are read from ' .. folder)
    else
      health.info(folder .. ' does not exist yet: the first `unsnarl record` makes it')
    end
  end
end

function M.check()
  health.start('unsnarl')
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim is older than 0.11')
    return
  end
  check_options()
  local is_usable = check_binary()

  health.start('unsnarl: language server')
  local clients = vim.lsp.get_clients({ name = 'unsnarl' })
  if #clients == 0 then
    local why = not is_usable and 'the binary is missing, see above; after installing it reload the file with `:edit`'
      or not vim.lsp.is_enabled('unsnarl') and "it is not enabled: vim.lsp.enable('unsnarl')"
      or 'open a C or C++ file first'
    health.warn('not running: ' .. why)
  end
  for _, client in ipairs(clients) do
    check_client(client)
  end
end

return M
