local LAST_TIME = '315537897599999999' -- of year 9999

-- moved returns a session's times after a write at now.
local function moved(updated, ttl, now)
  if now > updated then
    updated = now
  end
  if ttl == '0' then
    return updated, ''
  end
  local us = tonumber(string.sub(updated, 13)) + tonumber(ttl) % 1000000
  local s = tonumber(string.sub(updated, 1, 12)) + math.floor(tonumber(ttl) / 1000000)
  if us >= 1000000 then
    s, us = s + 1, us - 1000000
  end
  if s > tonumber(string.sub(LAST_TIME, 1, 12)) then
    return updated, LAST_TIME
  end
  return updated, string.format('%012.0f%06.0f', s, us)
end
