-- The language server, in the form that `vim.lsp.config` looks for. `vim.lsp.config('unsnarl', {...})` changes
-- anything here; `vim.g.unsnarl` holds what most people want to change.
local options = require('unsnarl.options').get()

--- The project of a buffer: where runs already land, else where it is built. A lone file's project is its own
--- folder, so that its first run is noticed too; headers that it leads to start no servers of their own.
---@param bufnr integer
---@param on_dir fun(root: string)
local function root_dir(bufnr, on_dir)
  local root = vim.fs.root(bufnr, '.unsnarl') or vim.fs.root(bufnr, { 'compile_commands.json', '.git' })
  local name = vim.api.nvim_buf_get_name(bufnr)
  if root then
    on_dir(root)
  elseif name ~= '' and #vim.lsp.get_clients({ name = 'unsnarl' }) == 0 then
    on_dir(vim.fs.dirname(name))
  end
end

--- What the server may offer in code lenses and code actions, because it is here.
local commands = {
  ['unsnarl.showExplanation'] = function()
    require('unsnarl.dsp').show()
  end,
  ['unsnarl.nextStep'] = function()
    require('unsnarl.jump').step('next')
  end,
  ['unsnarl.replay'] = function(command)
    require('unsnarl.terminal').replay(command.arguments[1])
  end,
  ['unsnarl.debugRun'] = function(command)
    require('unsnarl.dap').run(command.arguments[1])
  end,
  ['unsnarl.askSuppress'] = function(command)
    require('unsnarl.command').suppress(command.arguments[1])
  end,
  ['unsnarl.verify'] = function(command)
    require('unsnarl.terminal').verify(command.arguments[1])
  end,
  ['unsnarl.more'] = function(command, ctx)
    require('unsnarl.fix').more(command.arguments[2], assert(vim.lsp.get_client_by_id(ctx.client_id)))
  end,
  ['unsnarl.fixApplied'] = function(command, ctx)
    require('unsnarl.fix').applied(command.arguments[1], command.arguments[2], assert(vim.lsp.get_client_by_id(ctx.client_id)))
  end,
}

---@type vim.lsp.Config
return {
  commands = commands,
  handlers = {
    ['unsnarl/statusChanged'] = function(...)
      require('unsnarl.progress').on_status_changed(...)
    end,
    ['workspace/inlayHint/refresh'] = function(...)
      return require('unsnarl.hints').on_refresh(...)
    end,
    ['textDocument/inlayHint'] = function(...)
      require('unsnarl.hints').on_hints(...)
    end,
  },
  capabilities = { experimental = { unsnarl = { status = true, commands = vim.tbl_keys(commands) } } },
  cmd = options.cmd,
  filetypes = { 'c', 'cpp' },
  root_dir = root_dir,
  init_options = { runsFolder = options.runs_folder, confirm = options.confirm },
}
