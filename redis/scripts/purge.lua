-- Removes a session if it has expired; else the register learns when it will.
-- ARGV: now, session id.
local now, id = ARGV[1], ARGV[2]

local s, why, remains = load(KEYS[1], now, '')
if s then
  expire_at(s.expires, id)
  return { 'kept' }
end
if why == 'format' then
  return { why }
end
if not remains then
  call('UNLINK', KEYS[2], KEYS[3])
  call('ZREM', KEYS[5], id)
  return { 'gone' }
end
remove(remains, id)
return { 'ok' }
