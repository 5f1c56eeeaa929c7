-- Makes a child of a session of the same shard.
-- KEYS[6..8]: the source's hash, messages and ids.
-- ARGV: now, owner, child's id, gen and version of the source that the child was made
-- from, last seq to copy or '', child's gen, session, user, parent, ttl.
local now, owner, id, gen, version, at = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local child = { gen = ARGV[7], session = ARGV[8], user = ARGV[9], parent = ARGV[10], ttl = ARGV[11] }

local reply, remains = refused(now, child.gen)
if reply and reply[1] == 'done' then
  return reply
end
local src, why = load(KEYS[6], now, owner)
if not src then
  return { why }
end
if src.gen ~= gen or src.version ~= version then
  return { 'changed' }
end
if reply then
  return reply
end
if at == '' then
  at = src.last_seq
end

make_room(remains, id)
local all, bytes = tonumber(src.message_count), tonumber(src.bytes)
local count = all
if at ~= src.last_seq then
  count = call('ZCOUNT', KEYS[7], '-inf', at)
end

-- each calls f with the messages from low to high and their seqs, some at a time.
local function each(low, high, f)
  local offset = 0
  repeat
    local some = call('ZRANGEBYSCORE', KEYS[7], low, high, 'WITHSCORES', 'LIMIT', text(offset), text(CHUNK))
    if #some > 0 then
      f(some)
    end
    offset = offset + CHUNK
  until #some < 2 * CHUNK
end

if count == 0 then
  bytes = 0
else
  call('ZRANGESTORE', KEYS[2], KEYS[7], '-inf', at, 'BYSCORE')
  if 2 * count > all then
    call('COPY', KEYS[8], KEYS[3])
    if count < all then
      each('(' .. at, '+inf', function(some)
        local ids = {}
        for i = 1, #some, 2 do
          ids[#ids + 1] = id_of(some[i])
          bytes = bytes - #some[i]
        end
        call('HDEL', KEYS[3], unpack(ids))
      end)
    end
  else
    bytes = 0
    each('-inf', at, function(some)
      local h = {}
      for i = 1, #some, 2 do
        h[#h + 1] = id_of(some[i])
        h[#h + 1] = some[i + 1]
        bytes = bytes + #some[i]
      end
      call('HSET', KEYS[3], unpack(h))
    end)
  end
end

local updated, expires = moved(now, child.ttl, now)
call('HSET', KEYS[1], 'format', FORMAT, 'gen', child.gen, 'session', child.session,
  'status', 'active', 'user', child.user, 'parent', child.parent, 'fork_seq', at,
  'updated', updated, 'expires', expires, 'ttl', child.ttl, 'last_seq', at,
  'message_count', text(count), 'bytes', text(bytes), 'version', '1', 'ops', '')
index(child, updated, id)
if expires ~= '' then
  expire_at(expires, id)
end
return { 'ok', record(KEYS[1]) }
