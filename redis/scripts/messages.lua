-- Returns the session and a page of its messages, each followed by its seq, from the end
-- that the page starts at; and last whether it ends because of its size.
-- ARGV: now, owner, lowest and highest seq as ZRANGEBYSCORE takes them, limit, 1 from the
-- newest end, bytes that are enough.
local now, owner, low, high = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local limit, newest, enough = tonumber(ARGV[5]), ARGV[6] == '1', tonumber(ARGV[7])

local s, why = load(KEYS[1], now, owner)
if not s then
  return { why }
end

local function range(offset, count)
  if newest then
    return redis.call('ZREVRANGEBYSCORE', KEYS[2], high, low, 'WITHSCORES', 'LIMIT', text(offset), text(count))
  end
  return redis.call('ZRANGEBYSCORE', KEYS[2], low, high, 'WITHSCORES', 'LIMIT', text(offset), text(count))
end

if tonumber(s.bytes) <= enough then
  return { 'ok', record(KEYS[1]), range(0, limit), 0 }
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
    return { 'ok', record(KEYS[1]), page, 1 }
  end
  if #some < 2 * FEW then
    break
  end
end
return { 'ok', record(KEYS[1]), page, 0 }
