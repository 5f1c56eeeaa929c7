package containers

import "fmt"

// Image is an official image of a server.
type Image struct {
	Ref  string // name:tag
	Kind *Kind
}

// Images are all that the tests run against: of each server the newest version, which is
// also what a whole test run uses, and the oldest that its backend supports.
var Images = []Image{
	{"postgres:18-alpine", Postgres},
	{"postgres:12-alpine", Postgres},
	{"redis:8-alpine", Redis},
	{"redis:6.2-alpine", Redis},
	{"valkey/valkey:9-alpine", Redis},
	{"valkey/valkey:8-alpine", Redis},
	{"mongo:8.0", Mongo},
	{"mongo:4.4", Mongo},
}

// Newest returns the image of a kind that a whole test run uses.
func Newest(k *Kind) Image {
	for _, image := range Images {
		if image.Kind == k {
			return image
		}
	}
	panic("containers: no image of " + k.Name)
}

// Kind is a kind of server: how to start its images, and how to reach it.
type Kind struct {
	Name     string // for people
	Variable string // of the environment, that names a server of this kind to the tests
	Package  string // of the library: the backend

	port  string // in the container
	env   map[string]string
	args  []string
	ready string // is in its log once it takes connections
	times int    // how often it says so until it means it
	url   string // a format, of host:port
}

// URL returns how a client reaches the server at an address.
func (k *Kind) URL(address string) string { return fmt.Sprintf(k.url, address) }

// Kinds are all of them.
var Kinds = []*Kind{Postgres, Redis, Mongo}

// Postgres needs no password, because the tests put a PgBouncer before it that has none,
// and does not sync: what is durable after a power cut is PostgreSQL's to test.
var Postgres = &Kind{
	Name:     "PostgreSQL",
	Variable: "SESSIONSTORE_TEST_POSTGRES",
	Package:  "postgres",
	port:     "5432/tcp",
	env:      map[string]string{"POSTGRES_HOST_AUTH_METHOD": "trust"},
	args:     []string{"postgres", "-c", "max_connections=400", "-c", "fsync=off", "-c", "full_page_writes=off"},
	ready:    "database system is ready to accept connections",
	times:    2, // the first time while the image sets it up
	url:      "postgres://postgres@%s/postgres?sslmode=disable",
}

// Redis is Redis, and Valkey: their images start a server if given options only. It keeps
// a log of its writes, as a store of record should.
var Redis = &Kind{
	Name:     "Redis",
	Variable: "SESSIONSTORE_TEST_REDIS",
	Package:  "redis",
	port:     "6379/tcp",
	args:     []string{"--appendonly", "yes", "--appendfsync", "everysec", "--save", ""},
	ready:    "Ready to accept connections",
	times:    1,
	url:      "redis://%s/0?read_timeout=1m&write_timeout=1m", // as a busy machine needs it
}

// Mongo is a standalone server.
var Mongo = &Kind{
	Name:     "MongoDB",
	Variable: "SESSIONSTORE_TEST_MONGO",
	Package:  "mongo",
	port:     "27017/tcp",
	ready:    "Waiting for connections",
	times:    1,
	url:      "mongodb://%s/",
}
