local UNIX_EPOCH = 62135596800 -- in seconds since year 1

-- due is a time as a score of the expiry zset: Unix milliseconds, rounded down.
local function due(time)
  local s = tonumber(string.sub(time, 1, 12)) - UNIX_EPOCH
  return text(s * 1000 + tonumber(string.sub(time, 13, 15)))
end

local function expire_at(expires, id)
  if expires == '' then
    call('ZREM', KEYS[5], id)
  else
    call('ZADD', KEYS[5], due(expires), id)
  end
end
