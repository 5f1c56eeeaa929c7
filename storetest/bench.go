package storetest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

// Bench measures the workloads that a store of conversations lives on. Names and sizes
// are fixed, so that benchstat can compare backends and releases:
//
//	W1/history=N  append one message to a session of N (0, 1,000, 10,000)
//	W2            append one message, 32 goroutines over 64 sessions
//	hot           append one message, 32 goroutines on one session
//	W3            the newest 20 messages of 10,000
//	W4            all messages of 1,000
//	W5            the newest 50 sessions of a user who has 10,000
//
// A message has a role, about 400 bytes of text and two metadata keys. Each benchmark has
// a namespace of its own; only the time of the calls is measured, not of what they need
// beforehand.
func Bench(b *testing.B, be Backend) {
	b.Helper()
	for _, n := range []int{0, 1000, 10_000} {
		b.Run(fmt.Sprintf("W1/history=%d", n), func(b *testing.B) { newBench(b, be).appendOne(n) })
	}
	b.Run("W2", func(b *testing.B) { newBench(b, be).appendParallel(64) })
	b.Run("hot", func(b *testing.B) { newBench(b, be).appendParallel(1) })
	b.Run("W3", func(b *testing.B) {
		newBench(b, be).read(10_000, 20, sessionstore.MessageQuery{Limit: 20, Newest: true})
	})
	b.Run("W4", func(b *testing.B) { newBench(b, be).read(1000, 1000, sessionstore.MessageQuery{}) })
	b.Run("W5", func(b *testing.B) { newBench(b, be).list(10_000, 50) })
}

const benchWriters = 32

type bench struct {
	*testing.B
	ctx   context.Context
	store sessionstore.SessionStore
}

func newBench(b *testing.B, be Backend) *bench {
	b.ReportAllocs()
	store := be.Open(b, Config{Namespace: "bench-" + freshHex(), Now: time.Now})
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Errorf("Close: got %v, want nil", err)
		}
	})
	return &bench{b, b.Context(), store}
}

var benchText = strings.Repeat("The quick brown fox jumps over the lazy dog, twice. ", 8)[:400]

func benchMessage() sessionstore.Message {
	m := sessionstore.UserMessage(benchText)
	m.Metadata = sessionstore.Metadata{"model": "gpt-4.1-mini", "tokens": int64(97)}
	return m
}

// fill returns a new session with a history of n messages.
func (b *bench) fill(n int) string {
	s, err := b.store.CreateSession(b.ctx, sessionstore.Session{UserID: "user", AgentName: "agent"})
	if err != nil {
		b.Fatalf("CreateSession: got %v, want nil", err)
	}
	for n > 0 {
		batch := make([]sessionstore.Message, min(n, sessionstore.MaxAppendMessages))
		for i := range batch {
			batch[i] = benchMessage()
		}
		if _, err := b.store.AppendMessages(b.ctx, s.ID, sessionstore.Append{Messages: batch}); err != nil {
			b.Fatalf("AppendMessages of %d: got %v, want nil", len(batch), err)
		}
		n -= len(batch)
	}
	return s.ID
}

// appendOne goes over to a new session before the history has grown to much more than n.
func (b *bench) appendOne(n int) {
	id, grown := b.fill(n), 0
	batch := []sessionstore.Message{benchMessage()}
	for b.Loop() {
		if grown++; grown > max(n, 256) {
			b.StopTimer()
			id, grown = b.fill(n), 1
			b.StartTimer()
		}
		if _, err := b.store.AppendMessages(b.ctx, id, sessionstore.Append{Messages: batch}); err != nil {
			b.Fatalf("AppendMessages: got %v, want nil", err)
		}
	}
}

func (b *bench) appendParallel(sessions int) {
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = b.fill(0)
	}
	procs := runtime.GOMAXPROCS(0)
	b.SetParallelism((benchWriters + procs - 1) / procs)
	var writer atomic.Int64
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		batch := []sessionstore.Message{benchMessage()}
		// Each starts elsewhere and goes round, so that all sessions get the same.
		for i := int(writer.Add(1)) * 2; pb.Next(); i++ {
			if _, err := b.store.AppendMessages(b.ctx, ids[i%len(ids)], sessionstore.Append{Messages: batch}); err != nil {
				b.Errorf("AppendMessages: got %v, want nil", err)
				return
			}
		}
	})
}

func (b *bench) read(n, want int, q sessionstore.MessageQuery) {
	id := b.fill(n)
	for b.Loop() {
		page, err := b.store.ListMessages(b.ctx, id, q)
		if err != nil || len(page.Messages) != want {
			b.Fatalf("ListMessages: got %d messages, %v, want %d, nil", len(page.Messages), err, want)
		}
	}
}

func (b *bench) list(n, want int) {
	// Written by many at once, because some backends wait for a disk with each.
	var next atomic.Int64
	done := make(chan error, benchWriters)
	for range benchWriters {
		go func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if _, err := b.store.CreateSession(b.ctx, sessionstore.Session{UserID: "user", AgentName: "agent", Metadata: sessionstore.Metadata{"title": "A conversation", "n": i}}); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range benchWriters {
		if err := <-done; err != nil {
			b.Fatalf("CreateSession: got %v, want nil", err)
		}
	}
	for b.Loop() {
		page, err := b.store.ListSessions(b.ctx, sessionstore.SessionQuery{UserID: "user", Limit: want})
		if err != nil || len(page.Sessions) != want {
			b.Fatalf("ListSessions: got %d sessions, %v, want %d, nil", len(page.Sessions), err, want)
		}
	}
}
