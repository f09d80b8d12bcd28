--- The options, from `vim.g.unsnarl`.
local M = {}

---@class unsnarl.Options
---@field cmd string[] How the language server is started.
---@field enabled boolean Start it by itself for C and C++.
---@field runs_folder string Folder that run files land in, relative to the project.
---@field confirm string Run programs again in the background: 'ask' (`:Unsnarl confirm` does it), 'always' or 'never'.
---@field lenses boolean Show above a cause what can be done with its explanation (`:Unsnarl lens` does it).
---@field mappings boolean Map the suggested keys in buffers of the server: |unsnarl-mappings|.
---@field hints boolean Show steps and invariants at the ends of lines.
---@field steps_in_float boolean Show the steps of an explanation in the diagnostic float (Neovim 0.11 draws none).

---@type unsnarl.Options
local defaults = {
  cmd = { 'unsnarl', 'lsp' },
  enabled = true,
  runs_folder = '.unsnarl/runs',
  confirm = 'ask',
  lenses = true,
  mappings = false,
  hints = true,
  steps_in_float = true,
}

--- The options in force.
---@return unsnarl.Options
function M.get()
  return vim.tbl_extend('force', defaults, vim.g.unsnarl or {})
end

--- What is wrong with `vim.g.unsnarl`, in words.
---@return string[]
function M.complaints()
  local complaints = {}
  for name, value in pairs(vim.g.unsnarl or {}) do
    local default = defaults[name]
    if default == nil then
      complaints[#complaints + 1] = ('vim.g.unsnarl.%s: there is no such option, see :help unsnarl-options'):format(name)
    elseif type(value) ~= type(default) then
      complaints[#complaints + 1] = ('vim.g.unsnarl.%s is a %s, but has to be a %s'):format(name, type(value), type(default))
    end
  end
  table.sort(complaints)
  return complaints
end

return M
