-- The members of the index for a session at a place, which is a line feed, the time of its
-- last write and its id.
local function entries(s, place)
  if s.parent == '' then
    if s.user == '' then
      return 'a' .. place
    end
    return 'a' .. place, 'u' .. s.user .. place
  end
  if s.user == '' then
    return 'a' .. place, 'p' .. s.parent .. place
  end
  return 'a' .. place, 'p' .. s.parent .. place, 'u' .. s.user .. place
end

local function index(s, updated, id)
  local a, b, c = entries(s, '\n' .. updated .. id)
  if c then
    call('ZADD', KEYS[4], '0', a, '0', b, '0', c)
  elseif b then
    call('ZADD', KEYS[4], '0', a, '0', b)
  else
    call('ZADD', KEYS[4], '0', a)
  end
end

local function unindex(s, id)
  call('ZREM', KEYS[4], entries(s, '\n' .. s.updated .. id))
end

local function reindex(s, updated, id)
  if updated ~= s.updated then
    unindex(s, id)
    index(s, updated, id)
  end
end
