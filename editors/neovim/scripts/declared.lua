-- Prints what the help is made of, as JSON: `nvim -l editors/neovim/declared.lua`. The subcommands and the options are
-- declared where they are used; of the options the types and words stand in the annotations of their class.
local plugin = vim.fs.dirname(vim.fs.dirname(vim.fs.abspath(_G.arg[0])))
vim.opt.runtimepath:append(plugin)

--- The fields that a class is annotated with, in their order.
---@param file string
local function fields(file)
  local found = {}
  for line in io.lines(vim.fs.joinpath(plugin, file)) do
    local name, kind, help = line:match('^%-%-%-@field (%S+) (%S+) (.+)$')
    if name then
      found[#found + 1] = { name = name, kind = kind, help = help }
    end
  end
  return found
end

local defaults = require('unsnarl.options').get()
local options = {}
for _, field in ipairs(fields('lua/unsnarl/options.lua')) do
  local default = vim.inspect(defaults[field.name], { newline = ' ', indent = '' })
  options[#options + 1] = { name = field.name, help = field.help, default = (default:gsub('"', "'")) }
end
assert(#options == vim.tbl_count(defaults), 'lua/unsnarl/options.lua: annotated fields and defaults differ')

local commands = vim.tbl_map(function(command)
  return { name = command.name, help = command.help, runs = command.runs or false }
end, require('unsnarl.command').all)

io.stdout:write(vim.json.encode({ options = options, commands = commands }) .. '\n')
