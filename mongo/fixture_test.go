package mongo_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/mongo"
)

// fixture is a store in a database of its own, and the client to look behind it.
type fixture struct {
	*mongo.Store
	client *driver.Client // of the store
	db     *driver.Database
	now    time.Time
}

// newFixture makes a store whose client is changed. The database goes with the test.
func newFixture(tb testing.TB, namespace string, change func(*options.ClientOptions)) *fixture {
	tb.Helper()
	f := &fixture{db: connect(tb, nil).Database("sessionstore_test_" + rand.Text()), now: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)}
	dropAfter(tb, f.db.Name())
	f.client = connect(tb, change)
	f.Store = f.store(tb, namespace, f.client)
	if err := f.Migrate(tb.Context()); err != nil {
		tb.Fatalf("Migrate: got %v, want nil", err)
	}
	return f
}

// store returns another store on the same data and clock.
func (f *fixture) store(tb testing.TB, namespace string, client *driver.Client) *mongo.Store {
	tb.Helper()
	s, err := mongo.New(client.Database(f.db.Name()), &mongo.Options{Namespace: namespace, Now: func() time.Time { return f.now }})
	if err != nil {
		tb.Fatalf("New: got %v, want nil", err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func (f *fixture) create(tb testing.TB, s sessionstore.Session) sessionstore.Session {
	tb.Helper()
	out, err := f.CreateSession(tb.Context(), s)
	if err != nil {
		tb.Fatalf("CreateSession(%q): got %v, want nil", s.ID, err)
	}
	return out
}

// batch is n messages with ids that begin with the prefix and grow.
func batch(prefix string, n int) sessionstore.Append {
	var a sessionstore.Append
	for i := range n {
		m := sessionstore.UserMessage(fmt.Sprint("text ", i))
		m.ID = fmt.Sprintf("%s%05d", prefix, i)
		a.Messages = append(a.Messages, m)
	}
	return a
}

func say(tb testing.TB, s sessionstore.SessionStore, id, prefix string, n int) {
	tb.Helper()
	if _, err := s.AppendMessages(tb.Context(), id, batch(prefix, n)); err != nil {
		tb.Fatalf("AppendMessages(%q) of %d: got %v, want nil", id, n, err)
	}
}

func history(tb testing.TB, s sessionstore.SessionStore, id string) []sessionstore.Message {
	tb.Helper()
	var out []sessionstore.Message
	for q := (sessionstore.MessageQuery{}); ; {
		page, err := s.ListMessages(tb.Context(), id, q)
		if err != nil {
			tb.Fatalf("ListMessages(%q): got %v, want nil", id, err)
		}
		out = append(out, page.Messages...)
		if !page.HasMore {
			return out
		}
		q.AfterSeq = out[len(out)-1].Seq
	}
}

func seqs(messages []sessionstore.Message) []int64 {
	out := make([]int64, len(messages))
	for i, m := range messages {
		out[i] = m.Seq
	}
	return out
}

// archive is a session of n messages as an export gives it.
func archive(id string, n int, now time.Time) (sessionstore.Session, iter.Seq2[sessionstore.Message, error]) {
	s := sessionstore.Session{ID: id, CreatedAt: now, UpdatedAt: now, Version: 1, LastSeq: int64(n), MessageCount: int64(n)}
	return s, func(yield func(sessionstore.Message, error) bool) {
		for i, m := range batch("a", n).Messages {
			m.Seq, m.CreatedAt = int64(i)+1, now
			if !yield(m, nil) {
				return
			}
		}
	}
}

// all returns the documents of one of the collections, by _id.
func (f *fixture) all(tb testing.TB, collection string) []bson.M {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	cursor, err := f.db.Collection("sessionstore."+collection).Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
	if err != nil {
		tb.Fatalf("Find in %s: got %v, want nil", collection, err)
	}
	var out []bson.M
	if err := cursor.All(ctx, &out); err != nil {
		tb.Fatalf("Find in %s: got %v, want nil", collection, err)
	}
	return out
}

// loose returns what no session has: blocks that no head refers to, and heads that are
// none's.
func (f *fixture) loose(tb testing.TB) []string {
	tb.Helper()
	used := map[any]bool{}
	var out []string
	for _, h := range f.all(tb, "sessions") {
		if status := h["status"]; status == "gone" || status == "staging" {
			out = append(out, fmt.Sprintf("head %q, %s", h["_id"], status))
			continue
		}
		for _, r := range h["refs"].(bson.A) {
			for _, e := range r.(bson.D) {
				if e.Key == "block" {
					used[e.Value] = true
				}
			}
		}
	}
	for _, b := range f.all(tb, "blocks") {
		if !used[b["_id"]] {
			out = append(out, fmt.Sprintf("block %s of %q", b["_id"], b["session"]))
		}
	}
	return out
}
