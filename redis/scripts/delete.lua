-- ARGV: now, owner, session id.
local s, why = load(KEYS[1], ARGV[1], ARGV[2])
if not s then
  return { why }
end
remove(s, ARGV[3])
return { 'ok' }
