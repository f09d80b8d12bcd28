-- Milliseconds from a run file's landing to its diagnostics in Neovim, many times over. Prints one number a
-- line after the word `latency`.
package.path = vim.env.UNSNARL_TEST_PLUGIN .. '/tests/?.lua;' .. package.path
local rig = require('rig')

rig.main(function()
  rig.client()
  for round = 1, 20 do
    local shown
    local id = vim.api.nvim_create_autocmd('DiagnosticChanged', {
      callback = function()
        shown = #vim.diagnostic.get(0) > 0 and vim.uv.hrtime() or nil
      end,
    })
    local landed = vim.uv.hrtime()
    rig.land('failing.arrow')
    rig.wait('shown ' .. round, function()
      return shown
    end)
    rig.say('latency', ('%.2f'):format((shown - landed) / 1e6))
    vim.api.nvim_del_autocmd(id)
    rig.take('failing.arrow')
    rig.wait('gone ' .. round, function()
      return #vim.diagnostic.get(0) == 0
    end)
  end
end)
