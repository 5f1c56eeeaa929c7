-- Begins every script. KEYS[1..5] are the session's hash, messages and ids, and its
-- shard's index and expiry, where a script says nothing else; see the package's
-- documentation for what is in them.
--
-- Times are microseconds since year 1 in 18 decimal digits, compared as strings: they do
-- not fit into Lua's numbers. '' is no time. A reply is a table that begins with a word.

local FORMAT = '1'
local LAST_TIME = '315537897599999999' -- of year 9999
local UNIX_EPOCH = 62135596800         -- in seconds since year 1
local CHUNK = 200                      -- values on Lua's stack at once

-- What Go decodes a session from.
local function record(key)
  return redis.call('HMGET', key, 'format', 'session', 'gen', 'fork_seq',
    'updated', 'expires', 'last_seq', 'message_count', 'version')
end

-- load returns what the scripts need of a session, or nil and the word that says why not.
-- Of one that has expired it returns what there is third.
local function load(key, now, owner)
  local v = redis.call('HMGET', key, 'format', 'gen', 'status', 'user', 'parent', 'updated',
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

-- due is a time as a score of the expiry zset: Unix milliseconds, rounded down.
local function due(time)
  local s = tonumber(string.sub(time, 1, 12)) - UNIX_EPOCH
  return text(s * 1000 + tonumber(string.sub(time, 13, 15)))
end

-- entries returns the members of the index for a session updated at that time.
local function entries(s, updated, id)
  local place = '\n' .. updated .. id
  local e = { 'a' .. place }
  if s.user ~= '' then
    e[#e + 1] = 'u' .. s.user .. place
  end
  if s.parent ~= '' then
    e[#e + 1] = 'p' .. s.parent .. place
  end
  return e
end

local function index(s, updated, id)
  local args = {}
  for _, e in ipairs(entries(s, updated, id)) do
    args[#args + 1] = '0'
    args[#args + 1] = e
  end
  redis.call('ZADD', KEYS[4], unpack(args))
end

local function unindex(s, id)
  redis.call('ZREM', KEYS[4], unpack(entries(s, s.updated, id)))
end

local function reindex(s, updated, id)
  if updated ~= s.updated then
    unindex(s, id)
    index(s, updated, id)
  end
end

local function expire_at(expires, id)
  if expires == '' then
    redis.call('ZREM', KEYS[5], id)
  else
    redis.call('ZADD', KEYS[5], due(expires), id)
  end
end

-- remove leaves nothing of the session.
local function remove(s, id)
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
  unindex(s, id)
  redis.call('ZREM', KEYS[5], id)
end

-- refused returns the reply that refuses a new session of that id, or nil and what is
-- there of one that has expired. A repeat of the call that made the session is 'done'.
local function refused(now, gen)
  local s, why, remains = load(KEYS[1], now, '')
  if s then
    return { s.gen == gen and 'done' or 'exists' }
  end
  if why == 'format' then
    return { why }
  end
  return nil, remains
end

local function make_room(remains, id)
  if remains then
    remove(remains, id)
  else
    redis.call('UNLINK', KEYS[2], KEYS[3])
  end
end

-- id_of returns the id in a message's record, which begins with it.
local function id_of(message)
  return string.match(message, '^{"message_id":"([^"\\]+)"') or cjson.decode(message).message_id
end

-- The tokens of a session's last operations, of 16 bytes each: a driver that sends one of
-- them again, because the reply was lost, does not carry it out again.
local function already(s, token)
  for at = 1, #s.ops, 16 do
    if string.sub(s.ops, at, at + 15) == token then
      return true
    end
  end
  return false
end

local function noted(s, token)
  return string.sub(token .. s.ops, 1, 8 * 16)
end

-- put_messages stores ARGV[first..], triples of seq, id and message, and returns their
-- size.
local function put_messages(messages, ids, first)
  local bytes = 0
  for from = first, #ARGV, 3 * CHUNK do
    local z, h = {}, {}
    for i = from, math.min(from + 3 * CHUNK - 1, #ARGV), 3 do
      z[#z + 1] = ARGV[i]
      z[#z + 1] = ARGV[i + 2]
      h[#h + 1] = ARGV[i + 1]
      h[#h + 1] = ARGV[i]
      bytes = bytes + #ARGV[i + 2]
    end
    redis.call('ZADD', messages, unpack(z))
    redis.call('HSET', ids, unpack(h))
  end
  return bytes
end

-- staged_twice reports whether an id of ARGV[first..] is staged with another seq. With the
-- same it is a repeat of the same call.
local function staged_twice(ids, first)
  for i = first, #ARGV, 3 do
    local seq = redis.call('HGET', ids, ARGV[i + 1])
    if seq and seq ~= ARGV[i] then
      return true
    end
  end
  return false
end
