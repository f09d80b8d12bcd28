-- Starts unsnarl for C and C++ without any setup. Nothing of it is loaded before such a file is opened.
if vim.g.loaded_unsnarl then
  return
end
vim.g.loaded_unsnarl = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify_once('unsnarl needs Neovim 0.11 or newer', vim.log.levels.WARN)
  return
end

if vim.tbl_get(vim.g, 'unsnarl', 'enabled') ~= false then
  vim.lsp.enable('unsnarl')
end

vim.api.nvim_create_autocmd('LspAttach', {
  group = vim.api.nvim_create_augroup('unsnarl', {}),
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == 'unsnarl' then
      require('unsnarl.float').install()
      require('unsnarl.hints').attach(event.buf)
    end
  end,
})

vim.api.nvim_create_user_command('Unsnarl', function(command)
  require('unsnarl.command').run(command.fargs)
end, {
  nargs = 1,
  desc = 'Explanations, steps and status of unsnarl',
  complete = function(lead)
    return require('unsnarl.command').complete(lead)
  end,
})

-- Offered, not forced: map them as you like, e.g. vim.keymap.set('n', ']u', '<Plug>(unsnarl-next)').
local names = { 'explain', 'status', 'steps', 'next', 'previous', 'jump', 'dsp', 'select', 'suppress', 'hints', 'confirm', 'record', 'replay', 'verify' }
vim.list_extend(names, { 'debug', 'debug-next', 'debug-previous', 'debug-failure', 'debug-no-return', 'debug-passing', 'debug-failing' })
for _, name in ipairs(names) do
  vim.keymap.set('n', ('<Plug>(unsnarl-%s)'):format(name), ('<Cmd>Unsnarl %s<CR>'):format(name))
end
