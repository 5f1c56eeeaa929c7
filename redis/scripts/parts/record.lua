-- What Go decodes a session from.
local function record(key)
  return call('HMGET', key, 'format', 'session', 'gen', 'fork_seq',
    'updated', 'expires', 'last_seq', 'message_count', 'version')
end
