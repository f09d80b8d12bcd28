-- A Neovim with nothing but this plugin, as a user has it after the README: from its folder, or, as plugin managers do
-- it, from a clone of the repository among the packages. The driver says through the environment which server to start.
vim.o.swapfile, vim.o.shadafile = false, 'NONE'
if vim.env.UNSNARL_TEST_CLONE then
  local packages = vim.fs.joinpath(vim.env.XDG_DATA_HOME, 'pack/test/start')
  vim.fn.mkdir(packages, 'p')
  assert(vim.uv.fs_symlink(vim.env.UNSNARL_TEST_CLONE, vim.fs.joinpath(packages, 'unsnarl')))
  vim.opt.packpath:prepend(vim.env.XDG_DATA_HOME)
else
  vim.opt.runtimepath:append(vim.env.UNSNARL_TEST_PLUGIN)
end
vim.g.unsnarl = { cmd = { vim.env.UNSNARL_TEST_SERVER, 'lsp' }, mappings = true }
