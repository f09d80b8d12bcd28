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

local group = vim.api.nvim_create_augroup('unsnarl', {})

-- Neovim itself writes into its log only that a server cannot be started.
vim.api.nvim_create_autocmd('FileType', {
  group = group,
  pattern = { 'c', 'cpp' },
  callback = function(event)
    if vim.bo[event.buf].buftype == '' and vim.lsp.is_enabled('unsnarl') then
      require('unsnarl.binary').check()
    end
  end,
})

vim.api.nvim_create_autocmd('LspAttach', {
  group = group,
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == 'unsnarl' then
      require('unsnarl.float').install()
      require('unsnarl.hints').attach(event.buf)
      require('unsnarl.lens').attach(event.buf)
      require('unsnarl.keys').attach(event.buf)
      require('unsnarl.progress').install()
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
local names = { 'explain', 'status', 'steps', 'next', 'previous', 'jump', 'dsp', 'select', 'suppress', 'lens', 'hints', 'confirm', 'record', 'replay', 'verify' }
vim.list_extend(names, { 'debug', 'debug-next', 'debug-previous', 'debug-failure', 'debug-no-return', 'debug-passing', 'debug-failing' })
for _, name in ipairs(names) do
  vim.keymap.set('n', ('<Plug>(unsnarl-%s)'):format(name), ('<Cmd>Unsnarl %s<CR>'):format(name))
end
