-- Stores the session's new state if it is still the one that it was made from.
-- ARGV: now, owner, session id, gen and version it was made from, token, then session,
-- status, ttl and version.
local now, owner, id, gen, version, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local ttl = ARGV[9]

local s, why = load(KEYS[1], now, owner)
if not s then
  return { why }
end
if already(s, token) then
  return { 'ok', record(KEYS[1]) }
end
if s.gen ~= gen or s.version ~= version then
  return { 'changed' }
end
local updated, expires = moved(s.updated, ttl, now)
call('HSET', KEYS[1], 'session', ARGV[7], 'status', ARGV[8], 'ttl', ttl, 'version', ARGV[10],
  'updated', updated, 'expires', expires, 'ops', noted(s, token))
reindex(s, updated, id)
expire_at(expires, id)
return { 'ok', record(KEYS[1]) }
