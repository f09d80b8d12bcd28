--- Buffers with text of unsnarl's: named, highlighted, and with places to jump to.
local M = {}

--- Opens a named buffer in a split below; one that is open already is written anew.
---@param name string
---@param lines string[]
---@return integer bufnr
function M.open(name, lines)
  local bufnr = vim.fn.bufnr('^' .. name .. '$')
  local winid = bufnr > 0 and vim.fn.bufwinid(bufnr) or -1
  if winid > 0 then
    vim.api.nvim_set_current_win(winid)
  else
    vim.cmd('botright new')
    bufnr = vim.api.nvim_get_current_buf()
    M.name(bufnr, name)
  end
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, true, lines)
  vim.bo[bufnr].modifiable = false
  -- Sentences are as wide as a usual terminal: in a narrower window they go on below, indented.
  local wo = vim.wo[0][0]
  wo.wrap, wo.linebreak, wo.breakindent, wo.breakindentopt = true, true, true, 'shift:2'
  vim.api.nvim_win_set_height(0, math.min(#lines, math.floor(vim.o.lines / 2)))
  vim.keymap.set('n', 'q', '<cmd>close<cr>', { buffer = bufnr, desc = 'Close' })
  return bufnr
end

--- Makes a scratch buffer of a new one, and names it.
---@param bufnr integer
---@param name string
function M.name(bufnr, name)
  -- A buffer of this name that is still there in no window has nothing to show.
  local old = vim.fn.bufnr('^' .. name .. '$')
  if old > 0 and old ~= bufnr then
    vim.api.nvim_buf_delete(old, { force = true })
  end
  vim.api.nvim_buf_set_name(bufnr, name)
  local bo = vim.bo[bufnr]
  bo.buftype, bo.bufhidden, bo.swapfile, bo.buflisted, bo.filetype = 'nofile', 'wipe', false, false, 'unsnarl'
  vim.bo[bufnr].syntax = 'unsnarl'
end

--- The end of a place, as texts name it: `limiter.cpp:13`.
---@param place { file: string, line: integer }
local function key(place)
  return ('%s:%d'):format(vim.fs.basename(place.file), place.line)
end

--- The present locations of the places that an explanation mentions.
---@param explanation table
---@return table<string, lsp.Location>
function M.places(explanation)
  local places = {}
  local function add(place, location)
    if type(place) == 'table' and type(location) == 'table' then
      places[key(place)] = location
    end
  end
  for at, step in ipairs(explanation.steps or {}) do
    add(step.place, explanation.stepLocations[at])
  end
  for at, site in ipairs(explanation.sites or {}) do
    add(site.place, explanation.siteLocations[at])
  end
  add(vim.tbl_get(explanation, 'failure', 'site'), explanation.failureLocation)
  return places
end

--- The place in a line at or behind a column, else the first one.
---@param line string
---@param column integer
---@return string?
local function named(line, column)
  local first
  for from, place, behind in line:gmatch('()([%w_%-%.]+%.%w+:%d+)()') do
    first = first or place
    if from <= column + 1 and column + 1 < behind then
      return place
    end
  end
  return first
end

--- Maps <CR> to go to the place that the cursor's line names.
---@param bufnr integer
---@param places_of fun(row: integer): table<string, lsp.Location>
---@param client vim.lsp.Client
function M.map_places(bufnr, places_of, client)
  local function go()
    local row, column = unpack(vim.api.nvim_win_get_cursor(0))
    local place = named(vim.api.nvim_get_current_line(), column)
    local location = place and places_of(row)[place]
    if location then
      vim.cmd('wincmd p')
      vim.lsp.util.show_document(location, client.offset_encoding, { focus = true })
    else
      vim.notify(place and ('unsnarl: %s has changed since the run'):format(place) or 'unsnarl: this line names no place')
    end
  end
  vim.keymap.set('n', '<CR>', go, { buffer = bufnr, desc = 'Go to the place that the line names' })
end

return M
