package testenv

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
)

// asker stands for the test that asks for a server. It has what this package calls; the
// rest of the interface is nil.
type asker struct {
	testing.TB
	skipped, failed error
}

func (a *asker) Helper()                   {}
func (a *asker) Logf(string, ...any)       {}
func (a *asker) Skip(args ...any)          { a.skipped = errors.New(fmt.Sprint(args...)); runtime.Goexit() }
func (a *asker) Skipf(f string, v ...any)  { a.Skip(fmt.Sprintf(f, v...)) }
func (a *asker) Fatal(args ...any)         { a.failed = errors.New(fmt.Sprint(args...)); runtime.Goexit() }
func (a *asker) Fatalf(f string, v ...any) { a.Fatal(fmt.Sprintf(f, v...)) }

// Find asks for a server (Postgres, Redis, Mongo) in a program that is no test. It returns
// the DSN of one that runs, or says what is missing.
func Find(server func(testing.TB) string) (dsn string, missing, err error) {
	a := &asker{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		dsn = server(a)
	}()
	<-done
	return dsn, a.skipped, a.failed
}
