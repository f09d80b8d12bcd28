-- A Neovim with nothing but this plugin, as a user has it after the README. The driver says through the
-- environment which server to start.
vim.o.swapfile, vim.o.shadafile = false, 'NONE'
vim.opt.runtimepath:append(vim.env.UNSNARL_TEST_PLUGIN)
vim.g.unsnarl = { cmd = { vim.env.UNSNARL_TEST_SERVER, 'lsp' } }
