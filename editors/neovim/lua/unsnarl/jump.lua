--- Going from step to step and along the edges of an explanation.
local request = require('unsnarl.request')
local M = {}

---@class unsnarl.Jump
---@field explanation string Id of the explanation that connects the two places.
---@field kind string `next`, `previous`, `failing`, `passing`, `flow` or `waits-for`.
---@field title string
---@field location lsp.Location

---@param jump unsnarl.Jump
---@param client vim.lsp.Client
local function go(jump, client)
  vim.lsp.util.show_document(jump.location, client.offset_encoding, { focus = true })
  vim.api.nvim_echo({ { jump.title } }, false, {})
end

--- Goes to the step behind or before the one under the cursor; to the first one when there is none here.
---@param kind 'next'|'previous'
function M.step(kind)
  request.ask_here('unsnarl/jumps', function(result, client)
    for _, jump in
      ipairs(result.jumps --[[@as unsnarl.Jump[] ]])
    do
      if jump.kind == kind then
        go(jump, client)
        return
      end
    end
    M.first(kind)
  end)
end

--- Goes to the first step of the selected explanation, or tells why not.
---@param kind 'next'|'previous'
function M.first(kind)
  local here = vim.api.nvim_buf_get_name(0)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  request.ask('unsnarl/explanations', nil, function(result, client)
    local explanation = M.selected(result)
    local steps = explanation and explanation.stepLocations or {}
    local from, to, by = 1, #steps, 1
    if kind == 'previous' then
      from, to, by = #steps, 1, -1
    end
    local is_step = false
    for at = 1, #steps do
      local location = steps[at]
      is_step = is_step
        or (type(location) == 'table' and vim.uri_to_fname(location.uri) == here and location.range.start.line + 1 == line)
    end
    if is_step then
      vim.notify(kind == 'next' and 'unsnarl: this is the last step' or 'unsnarl: this is the first step')
      return
    end
    for at = from, to, by do
      if type(steps[at]) == 'table' then
        local step = explanation.steps[at]
        local title = ('step %d: %s %s'):format(at, step.thread, step.effect)
        go({ explanation = explanation.id, kind = kind, title = title, location = steps[at] }, client)
        return
      end
    end
    vim.notify('unsnarl: there are no steps to go to, see :Unsnarl status', vim.log.levels.WARN)
  end)
end

--- The explanation of which the steps are shown.
---@param result table the answer of `unsnarl/explanations`
---@return table?
function M.selected(result)
  for _, explanation in ipairs(result.explanations) do
    if explanation.id == result.selected then
      return explanation
    end
  end
end

--- Lets the user choose where to go from here; goes at once where there is one way only.
function M.choose()
  request.ask_here('unsnarl/jumps', function(result, client)
    local jumps = result.jumps --[[@as unsnarl.Jump[] ]]
    if #jumps == 0 then
      vim.notify('unsnarl: no step or order of an explanation is connected with this line')
    elseif #jumps == 1 then
      go(jumps[1], client)
    else
      vim.ui.select(jumps, {
        prompt = 'Go to',
        kind = 'unsnarl.jump',
        format_item = function(jump)
          return jump.title
        end,
      }, function(jump)
        if jump then
          go(jump, client)
        end
      end)
    end
  end)
end

return M
