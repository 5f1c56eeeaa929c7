-- Returns the session and a page of its messages, each followed by its seq, from the end
-- that the page starts at; and last whether it ends because of its size.
-- ARGV: now, owner, lowest and highest seq as ZRANGEBYSCORE takes them, limit, 1 from the
-- newest end, bytes that are enough.
local call = redis.call
local now, owner, low, high = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local limit, newest, enough = tonumber(ARGV[5]), ARGV[6] == '1', tonumber(ARGV[7])

-- The first nine are those of the part record; not loaded by the part session, because
-- that would read the hash twice.
local s = call('HMGET', KEYS[1], 'format', 'session', 'gen', 'fork_seq',
  'updated', 'expires', 'last_seq', 'message_count', 'version', 'user', 'bytes')
if not s[1] then
  return { 'missing' }
end
if s[1] ~= '1' then
  return { 'format' }
end
if (s[6] ~= '' and now >= s[6]) or (owner ~= '' and owner ~= s[10]) then
  return { 'missing' }
end

local function range(offset, count)
  if newest then
    return call('ZREVRANGEBYSCORE', KEYS[2], high, low, 'WITHSCORES', 'LIMIT', offset, count)
  end
  return call('ZRANGEBYSCORE', KEYS[2], low, high, 'WITHSCORES', 'LIMIT', offset, count)
end

if tonumber(s[11]) <= enough then
  return { 'ok', s, range(0, limit), 0 }
end

-- A few at a time, so that no more is read than the page can hold.
local FEW = 4
local page, bytes = {}, 0
for offset = 0, limit - 1, FEW do
  local some = range(offset, math.min(FEW, limit - offset))
  for i = 1, #some, 2 do
    page[#page + 1] = some[i]
    page[#page + 1] = some[i + 1]
    bytes = bytes + #some[i]
  end
  if bytes > enough then
    return { 'ok', s, page, 1 }
  end
  if #some < 2 * FEW then
    break
  end
end
return { 'ok', s, page, 0 }
