-- Returns the session, a page of its messages from the end that the page starts at, whether
-- it ends because of its size, and how many values a message is: 2, the second of which is
-- its seq, or 1 if the session has all seqs up to its last one, and so no need to say them.
-- That values pass through Lua is most of what a page costs the server.
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

local width = 2
if s[7] == s[8] and call('ZCARD', KEYS[2]) == tonumber(s[8]) then
  width = 1 -- counted too, because a server that evicts keys may have lost some
end

local function range(offset, count)
  local command, from, to = 'ZRANGEBYSCORE', low, high
  if newest then
    command, from, to = 'ZREVRANGEBYSCORE', high, low
  end
  if width == 1 then
    return call(command, KEYS[2], from, to, 'LIMIT', offset, count)
  end
  return call(command, KEYS[2], from, to, 'LIMIT', offset, count, 'WITHSCORES')
end

if tonumber(s[11]) <= enough then
  return { 'ok', s, range(0, limit), 0, width }
end

-- A few at a time, so that no more is read than the page can hold.
local FEW = 4
local page, bytes = {}, 0
for offset = 0, limit - 1, FEW do
  local some = range(offset, math.min(FEW, limit - offset))
  for i = 1, #some, width do
    for j = i, i + width - 1 do
      page[#page + 1] = some[j]
    end
    bytes = bytes + #some[i]
  end
  if bytes > enough then
    return { 'ok', s, page, 1, width }
  end
  if #some < width * FEW then
    break
  end
end
return { 'ok', s, page, 0, width }
