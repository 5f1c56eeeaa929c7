package redis

// Keys returns the keys of a session in a namespace of so many shards.
func Keys(namespace string, shards int, id string) []string {
	n := newNames(namespace)
	sp := &space{}
	for i := range shards {
		sp.tags = append(sp.tags, n.tag(i))
	}
	return append(sp.keys(id), sp.staged(sp.shard(id), newToken())...)
}

// Stamp is the text of a time in the layout.
var Stamp = stamp
