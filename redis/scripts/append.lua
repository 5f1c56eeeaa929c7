-- ARGV: now, owner, session id, expected last_seq or '', then pairs of id and message.
local now, owner, id, expected = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local FIRST = 5

local s, why = load(KEYS[1], now, owner)
if not s then
  return { why }
end
local n = (#ARGV - FIRST + 1) / 2
if n == 0 then
  return { 'ok', s.last_seq }
end

-- The ids decide first. One whose message is gone was freed by a truncate.
local reply = { 'repeat' }
local function found(seq)
  local m = call('ZRANGEBYSCORE', KEYS[2], seq, seq)[1]
  if m then
    reply[#reply + 1] = m
    reply[#reply + 1] = seq
  end
end
if n == 1 then
  local seq = call('HGET', KEYS[3], ARGV[FIRST])
  if seq then
    found(seq)
  end
else
  for from = FIRST, #ARGV, 2 * CHUNK do
    local ids = {}
    for i = from, math.min(from + 2 * CHUNK - 1, #ARGV), 2 do
      ids[#ids + 1] = ARGV[i]
    end
    for _, seq in ipairs(call('HMGET', KEYS[3], unpack(ids))) do
      if seq then
        found(seq)
      end
    end
  end
end
if #reply > 1 then
  if #reply - 1 < 2 * n then
    return { 'taken' }
  end
  return reply
end

if s.status ~= 'active' or (expected ~= '' and expected ~= s.last_seq) then
  return { 'refused', s.status, s.last_seq }
end

-- From here on nothing refuses.
local last, bytes = tonumber(s.last_seq), tonumber(s.bytes)
if n == 1 then
  local seq, message = text(last + 1), ARGV[FIRST + 1]
  call('ZADD', KEYS[2], seq, message)
  call('HSET', KEYS[3], ARGV[FIRST], seq)
  bytes = bytes + #message
else
  for from = FIRST, #ARGV, 2 * CHUNK do
    local z, h = {}, {}
    for i = from, math.min(from + 2 * CHUNK - 1, #ARGV), 2 do
      local seq = text(last + (i - FIRST) / 2 + 1)
      z[#z + 1] = seq
      z[#z + 1] = ARGV[i + 1]
      h[#h + 1] = ARGV[i]
      h[#h + 1] = seq
      bytes = bytes + #ARGV[i + 1]
    end
    call('ZADD', KEYS[2], unpack(z))
    call('HSET', KEYS[3], unpack(h))
  end
end
local updated, expires = moved(s.updated, s.ttl, now)
call('HSET', KEYS[1], 'updated', updated, 'expires', expires, 'last_seq', text(last + n),
  'message_count', text(tonumber(s.message_count) + n), 'bytes', text(bytes))
reindex(s, updated, id)
return { 'ok', s.last_seq }
