-- put_messages stores ARGV[first..], triples of seq, id and message.
local function put_messages(messages, ids, first)
  for from = first, #ARGV, 3 * CHUNK do
    local z, h = {}, {}
    for i = from, math.min(from + 3 * CHUNK - 1, #ARGV), 3 do
      z[#z + 1] = ARGV[i]
      z[#z + 1] = ARGV[i + 2]
      h[#h + 1] = ARGV[i + 1]
      h[#h + 1] = ARGV[i]
    end
    call('ZADD', messages, unpack(z))
    call('HSET', ids, unpack(h))
  end
end

-- staged_twice reports whether an id of ARGV[first..] is staged with another seq. With the
-- same it is a repeat of the same call.
local function staged_twice(ids, first)
  for i = first, #ARGV, 3 do
    local seq = call('HGET', ids, ARGV[i + 1])
    if seq and seq ~= ARGV[i] then
      return true
    end
  end
  return false
end
