-- refused returns the reply that refuses a new session of that id, or nil and what is
-- there of one that has expired. A repeat of the call that made the session is 'done'.
local function refused(now, gen)
  local s, why, remains = load(KEYS[1], now, '')
  if s then
    return { s.gen == gen and 'done' or 'exists' }
  end
  if why == 'format' then
    return { why }
  end
  return nil, remains
end

local function make_room(remains, id)
  if remains then
    remove(remains, id)
  else
    call('UNLINK', KEYS[2], KEYS[3])
  end
end
