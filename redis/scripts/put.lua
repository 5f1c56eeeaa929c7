-- Creates or restores a session, with what was staged for it and the messages at the end.
-- KEYS[6..8]: the shard's register of what is staged, the staged messages and ids.
-- ARGV: now, session id, gen, token of what is staged or '', session, status, user,
-- parent, fork_seq, updated, expires, ttl, last_seq, message_count, bytes, version, then
-- triples of seq, id and message.
local now, id, gen, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local FIRST = 17

local reply, remains = refused(now, gen)
if reply then
  return reply
end
if token ~= '' then
  if not call('ZSCORE', KEYS[6], token) then
    return { 'lost' }
  end
  if staged_twice(KEYS[8], FIRST) then
    return { 'twice' }
  end
end

make_room(remains, id)
if token ~= '' then
  call('RENAME', KEYS[7], KEYS[2])
  call('RENAME', KEYS[8], KEYS[3])
  call('ZREM', KEYS[6], token)
end
put_messages(KEYS[2], KEYS[3], FIRST)
call('HSET', KEYS[1], 'format', FORMAT, 'gen', gen, 'session', ARGV[5], 'status', ARGV[6],
  'user', ARGV[7], 'parent', ARGV[8], 'fork_seq', ARGV[9], 'updated', ARGV[10], 'expires', ARGV[11],
  'ttl', ARGV[12], 'last_seq', ARGV[13], 'message_count', ARGV[14], 'bytes', ARGV[15],
  'version', ARGV[16], 'ops', '')
index({ user = ARGV[7], parent = ARGV[8] }, ARGV[10], id)
if ARGV[11] ~= '' then
  expire_at(ARGV[11], id)
end
return { 'ok' }
