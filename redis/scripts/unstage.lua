-- Removes what was staged. KEYS: the register, the staged messages and ids. ARGV: token,
-- the greatest score with which it is removed.
local call = redis.call
local score = call('ZSCORE', KEYS[1], ARGV[1])
if ARGV[2] ~= '+inf' and score and tonumber(score) > tonumber(ARGV[2]) then
  return { 'kept' }
end
call('UNLINK', KEYS[2], KEYS[3])
call('ZREM', KEYS[1], ARGV[1])
return { 'ok' }
