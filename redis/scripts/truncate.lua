-- ARGV: now, owner, session id, last seq that stays, expected last_seq or '', token.
local now, owner, id, through, expected, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]

local s, why = load(KEYS[1], now, owner)
if not s then
  return { why }
end
if already(s, token) then
  return { 'ok', record(KEYS[1]) }
end
if s.status ~= 'active' or (expected ~= '' and expected ~= s.last_seq) then
  return { 'refused', s.status, s.last_seq }
end
local n = call('ZCOUNT', KEYS[2], '(' .. through, '+inf')
if n == 0 then
  return { 'ok', record(KEYS[1]) }
end

local left, bytes = tonumber(s.message_count) - n, tonumber(s.bytes)
if left == 0 then
  call('UNLINK', KEYS[2], KEYS[3])
  bytes = 0
end
while left > 0 and n > 0 do
  local gone = call('ZPOPMAX', KEYS[2], text(math.min(n, CHUNK)))
  local ids = {}
  for i = 1, #gone, 2 do
    ids[#ids + 1] = id_of(gone[i])
    bytes = bytes - #gone[i]
  end
  call('HDEL', KEYS[3], unpack(ids))
  n = n - #ids
end
local updated, expires = moved(s.updated, s.ttl, now)
call('HSET', KEYS[1], 'updated', updated, 'expires', expires,
  'message_count', text(left), 'bytes', text(bytes), 'ops', noted(s, token))
reindex(s, updated, id)
return { 'ok', record(KEYS[1]) }
