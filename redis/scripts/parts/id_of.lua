-- id_of returns the id in a message's record, which begins with it.
local function id_of(message)
  return string.match(message, '^{"message_id":"([^"\\]+)"') or cjson.decode(message).message_id
end
