--- A suggested set of mappings, which nobody gets unasked.
local M = {}

--- Keys and the subcommand that each is mapped to.
---@type { [1]: string, [2]: string }[]
M.suggested = {
  { ']u', 'next' },
  { '[u', 'previous' },
  { 'gu.', 'jump' },
  { '<LocalLeader>ue', 'explain' },
  { '<LocalLeader>us', 'steps' },
  { '<LocalLeader>ud', 'dsp' },
  { '<LocalLeader>ul', 'lens' },
  { '<LocalLeader>uc', 'confirm' },
  { '<LocalLeader>uv', 'verify' },
  { '<LocalLeader>ur', 'record' },
}

--- Maps the suggested keys in a buffer, where the option `mappings` says so.
---@param bufnr integer
function M.attach(bufnr)
  if not require('unsnarl.options').get().mappings then
    return
  end
  for _, pair in ipairs(M.suggested) do
    local keys, name = pair[1], pair[2]
    vim.keymap.set('n', keys, ('<Plug>(unsnarl-%s)'):format(name), { buffer = bufnr, desc = 'unsnarl: ' .. name })
  end
end

return M
