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
