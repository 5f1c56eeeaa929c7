-- Returns the format and the number of shards of a namespace, which the first call sets.
-- KEYS: the namespace's meta hash. ARGV: format, shards.
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'format', ARGV[1], 'shards', ARGV[2])
end
return redis.call('HMGET', KEYS[1], 'format', 'shards')
