package mongoproxy

// Command is what the proxy takes a request for.
func Command(request []byte) (string, error) { return message(request).command() }
