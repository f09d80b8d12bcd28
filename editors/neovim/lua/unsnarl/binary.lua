--- The `unsnarl` binary, which everything else needs.
local M = {}

--- The program that the server is started with: as `vim.lsp.config` has it, since that may have been changed.
---@return string
function M.path()
  local config = vim.lsp.config.unsnarl
  local cmd = config and config.cmd
  return type(cmd) == 'table' and cmd[1] or require('unsnarl.options').get().cmd[1]
end

--- The reason for which the binary cannot be used, with what to do about it; nil where it can.
---@return string? reason
---@return string[]? advice
function M.problem()
  local config = vim.lsp.config.unsnarl
  local path = M.path()
  if config and type(config.cmd) == 'function' or vim.fn.executable(path) == 1 then
    return nil
  end
  local is_there = path:find('/', 1, true) and vim.uv.fs_stat(vim.fs.normalize(path))
  return ('`%s` %s'):format(path, is_there and 'cannot be executed' or 'was not found'),
    {
      'Install it: `cargo install --path cli` in the folder of unsnarl.',
      "Or say where it is: vim.g.unsnarl = { cmd = { '/path/to/unsnarl', 'lsp' } }",
    }
end

--- Says once that the binary is missing.
---@return boolean usable
function M.check()
  local reason, advice = M.problem()
  if reason then
    local text = ('unsnarl: %s, so nothing is explained here. %s See :checkhealth unsnarl'):format(reason, advice[1])
    vim.notify_once(text, vim.log.levels.WARN)
  end
  return reason == nil
end

return M
