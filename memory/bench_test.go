package memory_test

import (
	"context"
	"fmt"
	"maps"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

// The floors of the benchmarks: the least that could be called the same work, written by
// hand. Run them side by side, and compare the medians of several rounds:
//
//	go test -run '^$' -bench . -count 5 ./memory

// floorSession is a history behind a lock, with nothing checked.
type floorSession struct {
	mu       sync.Mutex
	session  sessionstore.Session
	messages []sessionstore.Message
}

func (f *floorSession) append(m sessionstore.Message) {
	m.Metadata = maps.Clone(m.Metadata)
	f.mu.Lock()
	m.Seq = int64(len(f.messages)) + 1
	m.CreatedAt = time.Now()
	f.messages = append(f.messages, m)
	f.mu.Unlock()
}

func (f *floorSession) newest(n int) []sessionstore.Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]sessionstore.Message, n)
	for i := range out {
		out[i] = f.messages[len(f.messages)-n+i]
		out[i].Metadata = maps.Clone(out[i].Metadata)
	}
	return out
}

// benchMessage is a role, about 400 bytes of text and two metadata keys.
func benchMessage(id string) sessionstore.Message {
	m := sessionstore.UserMessage(strings.Repeat("A message of common length. ", 15)[:400])
	m.ID = id
	m.Metadata = sessionstore.Metadata{"model": "m-1", "tokens": int64(113)}
	return m
}

// ids returns n message ids, made beforehand so that both sides of a comparison get theirs
// for nothing.
func ids(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%030d", prefix, i)
	}
	return out
}

func newStore(tb testing.TB, opts *memory.Options) *memory.Store {
	tb.Helper()
	store, err := memory.New(opts)
	if err != nil {
		tb.Fatalf("New(%+v) = %v, want a store", opts, err)
	}
	tb.Cleanup(func() { store.Close() })
	return store
}

func create(tb testing.TB, store sessionstore.SessionStore, s sessionstore.Session) sessionstore.Session {
	tb.Helper()
	out, err := store.CreateSession(tb.Context(), s)
	if err != nil {
		tb.Fatalf("CreateSession(%+v) = %v, want nil", s, err)
	}
	return out
}

// fill appends n messages, the ids of which begin with prefix.
func fill(tb testing.TB, store sessionstore.SessionStore, id, prefix string, n int) {
	tb.Helper()
	for done := 0; done < n; {
		batch := make([]sessionstore.Message, min(n-done, sessionstore.MaxAppendMessages))
		for i := range batch {
			batch[i] = benchMessage(fmt.Sprintf("%s-%d", prefix, done+i))
		}
		if _, err := store.AppendMessages(tb.Context(), id, sessionstore.Append{Messages: batch}); err != nil {
			tb.Fatalf("AppendMessages(%q, %d messages) = %v, want nil", id, len(batch), err)
		}
		done += len(batch)
	}
}

// The session is begun anew now and then, so that its length is about what the name says.
const renew = 1000

func BenchmarkW1AppendFloor(b *testing.B) {
	for _, size := range []int{0, 1000, 10000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			given := ids("new", renew)
			full := make([]sessionstore.Message, size)
			for i := range full {
				full[i] = benchMessage(fmt.Sprint("old", i))
			}
			m := benchMessage("")
			f := &floorSession{}
			for i := range b.N {
				if i%renew == 0 {
					b.StopTimer()
					f.messages = append([]sessionstore.Message(nil), full...)
					b.StartTimer()
				}
				m.ID = given[i%renew]
				f.append(m)
			}
		})
	}
}

func BenchmarkW1Append(b *testing.B) {
	for _, size := range []int{0, 1000, 10000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			given := ids("new", renew)
			store := newStore(b, nil)
			create(b, store, sessionstore.Session{ID: "base"})
			fill(b, store, "base", "old", size)
			ctx := context.Background()
			m := benchMessage("")
			batch := []sessionstore.Message{m}
			for i := range b.N {
				if i%renew == 0 {
					b.StopTimer()
					if i > 0 {
						if err := store.DeleteSession(ctx, "s"); err != nil {
							b.Fatal(err)
						}
					}
					if _, err := store.ForkSession(ctx, "base", sessionstore.Fork{ID: "s"}); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				batch[0].ID = given[i%renew]
				if _, err := store.AppendMessages(ctx, "s", sessionstore.Append{Messages: batch}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// spread runs write from 32 goroutines over so many sessions, b.N times in all. No session
// gets more than about 1,000 messages before reset is called with the timer stopped.
func spread(b *testing.B, sessions int, reset func(), write func(session int, id string)) {
	const writers = 32
	b.ReportAllocs()
	most := sessions * renew
	given := ids("new", most)
	for done := 0; done < b.N; {
		n := int64(min(b.N-done, most))
		b.StopTimer()
		reset()
		b.StartTimer()
		var next atomic.Int64
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for {
					i := next.Add(1) - 1
					if i >= n {
						return
					}
					write(int(i)%sessions, given[i])
				}
			})
		}
		wg.Wait()
		done += int(n)
	}
}

func benchSpreadFloor(b *testing.B, sessions int) {
	var all []*floorSession
	m := benchMessage("")
	spread(b, sessions, func() {
		all = make([]*floorSession, sessions)
		for i := range all {
			all[i] = &floorSession{}
		}
	}, func(session int, id string) {
		m := m
		m.ID = id
		all[session].append(m)
	})
}

func benchSpread(b *testing.B, sessions int) {
	var store *memory.Store
	m := benchMessage("")
	ctx := context.Background()
	name := ids("session", sessions)
	spread(b, sessions, func() {
		var err error
		if store, err = memory.New(nil); err != nil { // not newStore, whose cleanup would keep them all
			b.Fatal(err)
		}
		for _, id := range name {
			create(b, store, sessionstore.Session{ID: id})
		}
	}, func(session int, id string) {
		batch := []sessionstore.Message{m}
		batch[0].ID = id
		if _, err := store.AppendMessages(ctx, name[session], sessionstore.Append{Messages: batch}); err != nil {
			b.Error(err)
		}
	})
}

func BenchmarkW2SpreadFloor(b *testing.B) { benchSpreadFloor(b, 64) }
func BenchmarkW2Spread(b *testing.B)      { benchSpread(b, 64) }
func BenchmarkHotFloor(b *testing.B)      { benchSpreadFloor(b, 1) }
func BenchmarkHot(b *testing.B)           { benchSpread(b, 1) }

func benchNewestFloor(b *testing.B, of, n int) {
	b.ReportAllocs()
	f := &floorSession{}
	for i := range of {
		f.append(benchMessage(fmt.Sprint("old", i)))
	}
	for b.Loop() {
		if got := len(f.newest(n)); got != n {
			b.Fatalf("got %d messages, want %d", got, n)
		}
	}
}

func benchNewest(b *testing.B, of, n int) {
	b.ReportAllocs()
	store := newStore(b, nil)
	create(b, store, sessionstore.Session{ID: "s"})
	fill(b, store, "s", "old", of)
	ctx := context.Background()
	for b.Loop() {
		page, err := store.ListMessages(ctx, "s", sessionstore.MessageQuery{Limit: n, Newest: true})
		if err != nil || len(page.Messages) != n {
			b.Fatalf("got %d messages, %v; want %d", len(page.Messages), err, n)
		}
	}
}

func BenchmarkW3NewestFloor(b *testing.B) { benchNewestFloor(b, 10000, 20) }
func BenchmarkW3Newest(b *testing.B)      { benchNewest(b, 10000, 20) }
func BenchmarkW4AllFloor(b *testing.B)    { benchNewestFloor(b, 1000, 1000) }
func BenchmarkW4All(b *testing.B)         { benchNewest(b, 1000, 1000) }

// benchSession has what a session commonly has.
func benchSession(i int) sessionstore.Session {
	return sessionstore.Session{
		ID: fmt.Sprintf("session-%05d", i), UserID: "user", AgentName: "agent",
		System:   "You are a helpful assistant.",
		Metadata: sessionstore.Metadata{"title": "a conversation", "unread": int64(3)},
	}
}

func BenchmarkW5ListFloor(b *testing.B) {
	b.ReportAllocs()
	var mu sync.Mutex
	byUser := map[string][]*floorSession{}
	for i := range 10000 {
		s := benchSession(i)
		s.UpdatedAt = time.UnixMicro(int64(i))
		byUser["user"] = append(byUser["user"], &floorSession{session: s})
	}
	sort.Slice(byUser["user"], func(i, j int) bool {
		return byUser["user"][i].session.UpdatedAt.Before(byUser["user"][j].session.UpdatedAt)
	})
	newest := func(user string, n int) []sessionstore.Session {
		mu.Lock()
		defer mu.Unlock()
		of := byUser[user]
		out := make([]sessionstore.Session, n)
		for i := range out {
			f := of[len(of)-1-i]
			f.mu.Lock()
			out[i] = f.session
			f.mu.Unlock()
			out[i].Metadata = maps.Clone(out[i].Metadata)
		}
		return out
	}
	for b.Loop() {
		if out := newest("user", 50); out[0].ID != "session-09999" {
			b.Fatalf("got %q, want the newest", out[0].ID)
		}
	}
}

func BenchmarkW5List(b *testing.B) {
	b.ReportAllocs()
	store := newStore(b, nil)
	for i := range 10000 {
		create(b, store, benchSession(i))
	}
	ctx := context.Background()
	for b.Loop() {
		page, err := store.ListSessions(ctx, sessionstore.SessionQuery{UserID: "user", Limit: 50})
		if err != nil || len(page.Sessions) != 50 || page.Next == "" {
			b.Fatalf("got %d sessions, next %q, %v; want 50 and more to come", len(page.Sessions), page.Next, err)
		}
	}
}
