package main

import "context"

// system is a library with one of its storages, as its documentation says to use it.
type system struct {
	name    string
	module  string // for its version
	storage string // such as "PostgreSQL": systems on the same one are compared
	open    func(ctx context.Context, dsn string) (*store, error)
}

// store is a system that is open. A nil func stands for what the system does not have.
type store struct {
	create func(ctx context.Context, user, id string) error
	// open returns a handle on a session for one goroutine, as a request to a server
	// would get one.
	open  func(ctx context.Context, user, id string) (*handle, error)
	list  func(ctx context.Context, user string, n int) (got int, err error)
	close func() error
}

// handle is one session.
type handle struct {
	append func(ctx context.Context, text string) error
	fill   func(ctx context.Context, texts []string) error // the same as append for each, but sooner; nil: it is not
	newest func(ctx context.Context, n int) ([]string, error)
	all    func(ctx context.Context) ([]string, error)
}

// systems in the order of the table: of each storage ours first.
var systems = []system{
	{"sessionstore", library, "memory", openMemory},
	{"adk", adkModule, "memory", openADKMemory},
	{"langchaingo", langchainModule, "memory", openLangchainMemory},
	{"genkit", genkitModule, "memory", openGenkit},
	{"sessionstore", library, "PostgreSQL", openPostgres},
	{"adk", adkModule, "PostgreSQL", openADKPostgres},
	{"langchaingo", langchainModule, "PostgreSQL", openLangchainPostgres},
	{"sessionstore", library, "MongoDB", openMongo},
	{"langchaingo", langchainModule, "MongoDB", openLangchainMongo},
}
