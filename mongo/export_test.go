package mongo

// Key is the _id of a session's head.
func Key(namespace, id string) string { return key(namespace, id) }
