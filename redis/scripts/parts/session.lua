-- Begins the scripts that use a session. KEYS[1..5] are the session's hash, messages and
-- ids, and its shard's index and expiry; see the package's documentation for what is in
-- them. A reply is a table that begins with a word.
--
-- Times are microseconds since year 1 in 18 decimal digits, compared as strings: they do
-- not fit into Lua's numbers. '' is no time.

local FORMAT = '1'
local CHUNK = 200 -- values on Lua's stack at once
local call = redis.call

-- load returns what the scripts need of a session, or nil and the word that says why not.
-- Of one that has expired it returns what there is third.
local function load(key, now, owner)
  local v = call('HMGET', key, 'format', 'gen', 'status', 'user', 'parent', 'updated',
    'expires', 'ttl', 'last_seq', 'message_count', 'bytes', 'version', 'ops')
  if not v[1] then
    return nil, 'missing'
  end
  if v[1] ~= FORMAT then
    return nil, 'format'
  end
  local s = {
    gen = v[2], status = v[3], user = v[4], parent = v[5], updated = v[6], expires = v[7],
    ttl = v[8], last_seq = v[9], message_count = v[10], bytes = v[11], version = v[12], ops = v[13],
  }
  if s.expires ~= '' and now >= s.expires then
    return nil, 'missing', s
  end
  if owner ~= '' and owner ~= s.user then
    return nil, 'missing'
  end
  return s
end

-- Seqs and sizes as text: tostring gives 1e+15.
local function text(n)
  return string.format('%.0f', n)
end
