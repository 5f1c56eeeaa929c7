-- remove leaves nothing of the session.
local function remove(s, id)
  call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
  unindex(s, id)
  call('ZREM', KEYS[5], id)
end
