package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/sessionstore/sessionstore"
)

// call does the work of a workload once. A read ignores the entry.
type call func(*entry) error

// candidate does the work of the workloads in one way. Each func prepares what a workload
// needs, which is not measured, and returns what is; nil stands for work that the
// candidate does not do.
type candidate struct {
	name   string
	append func(context.Context, Workload) (call, error) // new sessions with their history
	read   func(context.Context, Workload) (call, error) // a session
	list   func(context.Context, Workload) (call, error) // a user's sessions
}

func (c candidate) of(k kind) func(context.Context, Workload) (call, error) {
	return map[kind]func(context.Context, Workload) (call, error){appending: c.append, reading: c.read, listing: c.list}[k]
}

// storeName is the name of the candidate that all others are there for.
const storeName = "store"

// ofStore makes a candidate of the stores that open returns; it may be the same each time.
func ofStore(open func() (sessionstore.SessionStore, error)) candidate {
	return candidate{
		name: storeName,
		append: func(ctx context.Context, w Workload) (call, error) {
			s, err := open()
			if err != nil {
				return nil, err
			}
			ids := make([]string, w.sessions)
			for i := range ids {
				if ids[i], err = fill(ctx, s, w.history); err != nil {
					return nil, err
				}
			}
			return func(e *entry) error {
				_, err := s.AppendMessages(ctx, ids[e.session], sessionstore.Append{Messages: e.batch})
				return err
			}, nil
		},
		read: func(ctx context.Context, w Workload) (call, error) {
			s, err := open()
			if err != nil {
				return nil, err
			}
			id, err := fill(ctx, s, w.stored)
			if err != nil {
				return nil, err
			}
			q := sessionstore.MessageQuery{Limit: w.read, Newest: w.newest}
			return func(*entry) error {
				page, err := s.ListMessages(ctx, id, q)
				return counted(len(page.Messages), w.read, err)
			}, nil
		},
		list: func(ctx context.Context, w Workload) (call, error) {
			s, err := open()
			if err != nil {
				return nil, err
			}
			err = together(w.stored, func(i int) error {
				_, err := s.CreateSession(ctx, session(i))
				return err
			})
			if err != nil {
				return nil, err
			}
			q := sessionstore.SessionQuery{UserID: "user", Limit: w.read}
			return func(*entry) error {
				page, err := s.ListSessions(ctx, q)
				return counted(len(page.Sessions), w.read, err)
			}, nil
		},
	}
}

// fill returns a new session with a history of n messages.
func fill(ctx context.Context, s sessionstore.SessionStore, n int) (string, error) {
	made, err := s.CreateSession(ctx, session(0))
	if err != nil {
		return "", err
	}
	msgs, _, err := messages(n)
	for ; err == nil && len(msgs) > 0; msgs = msgs[min(len(msgs), sessionstore.MaxAppendMessages):] {
		batch := msgs[:min(len(msgs), sessionstore.MaxAppendMessages)]
		_, err = s.AppendMessages(ctx, made.ID, sessionstore.Append{Messages: batch})
	}
	return made.ID, err
}

// counted is the error of a read that should have returned want things.
func counted(got, want int, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("read %d, want %d", got, want)
	}
	return err
}

// together calls f with 0 to n-1, from all writers in equal parts.
func together(n int, f func(i int) error) error {
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := n * w / writers; i < n*(w+1)/writers && errs[w] == nil; i++ {
				errs[w] = f(i)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// plainMessage and plainSession are what a program by hand decodes.
type plainMessage struct {
	ID        string         `json:"message_id"`
	Role      string         `json:"role"`
	Content   string         `json:"content"`
	CreatedAt time.Time      `json:"created_at"`
	Metadata  map[string]any `json:"metadata"`
}

type plainSession struct {
	ID        string         `json:"session_id"`
	UserID    string         `json:"user_id"`
	AgentName string         `json:"agent_name"`
	Status    string         `json:"status"`
	System    string         `json:"system"`
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
	LastSeq   int64          `json:"last_seq"`
	Count     int64          `json:"message_count"`
	Version   int64          `json:"version"`
	Metadata  map[string]any `json:"metadata"`
}

// decode appends what the record says to out.
func decode[T any](out []T, record []byte) ([]T, error) {
	var v T
	err := json.Unmarshal(record, &v)
	return append(out, v), err
}

// sessionRecords are those of n sessions of the user, the oldest first.
func sessionRecords(n int) ([][]byte, error) {
	out := make([][]byte, n)
	at := time.Now().Add(-time.Duration(n) * time.Second)
	for i := range out {
		s, err := session(i).Create(at.Add(time.Duration(i) * time.Second))
		if err != nil {
			return nil, err
		}
		if out[i], err = s.AppendJSON(nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}
