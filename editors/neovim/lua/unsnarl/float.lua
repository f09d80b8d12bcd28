--- The steps of an explanation in the diagnostic float. Neovim 0.12 draws related information by itself, 0.11
--- does not.
local M = {}

--- The message of a diagnostic, for unsnarl's own ones with the steps below it. Others are left as they are.
---@param diagnostic vim.Diagnostic
---@return string
function M.format(diagnostic)
  local related = vim.tbl_get(diagnostic, 'user_data', 'lsp', 'relatedInformation')
  if diagnostic.source ~= 'unsnarl' or type(related) ~= 'table' then
    return diagnostic.message
  end
  local lines = { diagnostic.message }
  for _, step in ipairs(related) do
    local file = vim.fs.basename(vim.uri_to_fname(step.location.uri))
    lines[#lines + 1] = ('  %s:%d  %s'):format(file, step.location.range.start.line + 1, step.message)
  end
  return table.concat(lines, '\n')
end

--- Makes floats use `format` where the user has no format of their own.
function M.install()
  if vim.fn.has('nvim-0.12') == 1 or not require('unsnarl.options').get().steps_in_float then
    return
  end
  local float = vim.diagnostic.config().float
  if float == false or (type(float) == 'table' and float.format) then
    return
  end
  local own = type(float) == 'table' and vim.deepcopy(float) or {}
  own.format = M.format
  vim.diagnostic.config({ float = own })
end

return M
