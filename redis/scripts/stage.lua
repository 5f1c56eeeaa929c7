-- Puts messages where no method looks, for put.lua to move into place.
-- KEYS: the register, the staged messages and ids. ARGV: token, now as a score of the register, 1 for the first of
-- the token, then triples of seq, id and message.
local token, now, first = ARGV[1], ARGV[2], ARGV[3] == '1'
local FIRST = 4

if not first and not call('ZSCORE', KEYS[1], token) then
  return { 'lost' }
end
if staged_twice(KEYS[3], FIRST) then
  return { 'twice' }
end
put_messages(KEYS[2], KEYS[3], FIRST)
call('ZADD', KEYS[1], now, token)
return { 'ok' }
