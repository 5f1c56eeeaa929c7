package storetest_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/storetest"
)

// A store of your own: maps and sorted slices under one lock. The rules of the contract
// come from package sessionstore (Prepare judges the arguments, Apply the record); what is
// the store's own is to hold the lock, to look things up at a fair price, and to copy what
// it hands out. It has none of the optional powers: forks and restores take the fallbacks.
type mapDB struct {
	mu     sync.Mutex
	spaces map[string]*mapSpace
}

// mapSpace is the data of a namespace.
type mapSpace struct {
	all    map[string]*conversation             // by session id
	listed map[string][]sessionstore.SessionKey // what a list walks, ascending: by "", "user "+id, "parent "+id
}

type conversation struct {
	session  sessionstore.Session
	messages []sessionstore.Message // by Seq
	ids      map[string]int64       // message id → Seq
}

type mapStore struct {
	guard sessionstore.Guard
	db    *mapDB
	space *mapSpace
	now   func() time.Time
}

func (db *mapDB) open(namespace string, now func() time.Time) *mapStore {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.spaces == nil {
		db.spaces = map[string]*mapSpace{}
	}
	if db.spaces[namespace] == nil {
		db.spaces[namespace] = &mapSpace{all: map[string]*conversation{}, listed: map[string][]sessionstore.SessionKey{}}
	}
	return &mapStore{db: db, space: db.spaces[namespace], now: now}
}

// begin opens the atomic step that every method is, once its arguments are judged: the
// lock is held and the clock read until end is called.
func (s *mapStore) begin() (sp *mapSpace, now time.Time, end func()) {
	s.db.mu.Lock()
	return s.space, s.now(), s.db.mu.Unlock
}

// find returns the conversation, unless it is missing or expired.
func (sp *mapSpace) find(id string, now time.Time) (*conversation, error) {
	c := sp.all[id]
	if c == nil || c.session.Expired(now) {
		return nil, fmt.Errorf("mapstore: session %q: %w", id, sessionstore.ErrSessionNotFound)
	}
	return c, nil
}

// put stores the session of c and moves it to its new place in the lists.
func (sp *mapSpace) put(c *conversation, out sessionstore.Session) {
	sp.unlist(c.session)
	c.session = out
	for _, list := range lists(out) {
		keys := sp.listed[list]
		i, _ := slices.BinarySearchFunc(keys, out.Key(), sessionstore.SessionKey.Compare)
		sp.listed[list] = slices.Insert(keys, i, out.Key())
	}
}

func (sp *mapSpace) unlist(s sessionstore.Session) {
	for _, list := range lists(s) {
		keys := sp.listed[list]
		if i, ok := slices.BinarySearchFunc(keys, s.Key(), sessionstore.SessionKey.Compare); ok {
			sp.listed[list] = slices.Delete(keys, i, i+1)
		}
	}
}

// lists names the lists that a session stands in.
func lists(s sessionstore.Session) []string {
	return []string{"", "user " + s.UserID, "parent " + s.ParentID}
}

func (s *mapStore) CreateSession(ctx context.Context, in sessionstore.Session) (sessionstore.Session, error) {
	if err := s.guard.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.guard.Leave()
	sp, now, end := s.begin()
	defer end()
	out, err := in.Create(now)
	if err != nil {
		return sessionstore.Session{}, err
	}
	if old := sp.all[out.ID]; old != nil {
		if !old.session.Expired(now) {
			return sessionstore.Session{}, fmt.Errorf("mapstore: create %q: %w", out.ID, sessionstore.ErrSessionExists)
		}
		sp.unlist(old.session)
	}
	c := &conversation{ids: map[string]int64{}}
	sp.all[out.ID] = c
	sp.put(c, out)
	return out.Clone(), nil
}

func (s *mapStore) GetSession(ctx context.Context, id string) (sessionstore.Session, error) {
	if err := s.guard.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.guard.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	sp, now, end := s.begin()
	defer end()
	c, err := sp.find(id, now)
	if err != nil {
		return sessionstore.Session{}, err
	}
	return c.session.Clone(), nil
}

func (s *mapStore) UpdateSession(ctx context.Context, id string, u sessionstore.SessionUpdate) (sessionstore.Session, error) {
	if err := s.guard.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.guard.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	u, err := u.Prepare()
	if err != nil {
		return sessionstore.Session{}, err
	}
	sp, now, end := s.begin()
	defer end()
	c, err := sp.find(id, now)
	if err != nil {
		return sessionstore.Session{}, err
	}
	out, err := u.Apply(c.session, now)
	if err != nil {
		return sessionstore.Session{}, fmt.Errorf("mapstore: update %q: %w", id, err)
	}
	sp.put(c, out)
	return out.Clone(), nil
}

func (s *mapStore) DeleteSession(ctx context.Context, id string) error {
	if err := s.guard.Enter(ctx); err != nil {
		return err
	}
	defer s.guard.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return err
	}
	sp, now, end := s.begin()
	defer end()
	c, err := sp.find(id, now)
	if err != nil {
		return err
	}
	sp.unlist(c.session)
	delete(sp.all, id)
	return nil
}

func (s *mapStore) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (sessionstore.SessionPage, error) {
	if err := s.guard.Enter(ctx); err != nil {
		return sessionstore.SessionPage{}, err
	}
	defer s.guard.Leave()
	q, err := q.Prepare()
	if err != nil {
		return sessionstore.SessionPage{}, err
	}
	after, resumed, _ := q.After() // Prepare has judged it
	sp, now, end := s.begin()
	defer end()
	list := ""
	switch {
	case q.ParentID != "":
		list = "parent " + q.ParentID
	case q.UserID != "":
		list = "user " + q.UserID
	}
	keys := sp.listed[list]
	if resumed {
		i, _ := slices.BinarySearchFunc(keys, after, sessionstore.SessionKey.Compare)
		keys = keys[:i]
	}
	page := sessionstore.SessionPage{Sessions: []sessionstore.Session{}}
	for looked, key := range slices.Backward(keys) {
		if c := sp.all[key.ID]; q.Matches(c.session, now) {
			page.Sessions = append(page.Sessions, c.session.Clone())
		}
		// A page may be short: what a call looks at is bounded, whatever the filter.
		if len(page.Sessions) == q.Limit || len(keys)-looked == q.Limit+1000 {
			page.Next = key.Cursor()
			break
		}
	}
	return page, nil
}

func (s *mapStore) AppendMessages(ctx context.Context, id string, a sessionstore.Append) ([]sessionstore.Message, error) {
	if err := s.guard.Enter(ctx); err != nil {
		return nil, err
	}
	defer s.guard.Leave()
	a, err := a.Prepare(id)
	if err != nil {
		return nil, err
	}
	sp, now, end := s.begin()
	defer end()
	c, err := sp.find(id, now)
	if err != nil {
		return nil, err
	}
	var stored []sessionstore.Message
	for _, m := range a.Messages {
		if seq, ok := c.ids[m.ID]; ok {
			stored = append(stored, c.messages[c.upTo(seq)-1])
		}
	}
	repeat, err := a.Repeat(stored)
	if err != nil {
		return nil, fmt.Errorf("mapstore: append to %q: %w", id, err)
	}
	if repeat != nil {
		return clone(repeat), nil
	}
	session, messages, err := a.Apply(c.session, now)
	if err != nil {
		return nil, fmt.Errorf("mapstore: append to %q: %w", id, err)
	}
	for _, m := range messages {
		c.ids[m.ID] = m.Seq
	}
	c.messages = append(c.messages, messages...)
	sp.put(c, session)
	return clone(messages), nil
}

func (s *mapStore) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (sessionstore.MessagePage, error) {
	if err := s.guard.Enter(ctx); err != nil {
		return sessionstore.MessagePage{}, err
	}
	defer s.guard.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.MessagePage{}, err
	}
	q, err := q.Prepare()
	if err != nil {
		return sessionstore.MessagePage{}, err
	}
	sp, now, end := s.begin()
	defer end()
	c, err := sp.find(id, now)
	if err != nil {
		return sessionstore.MessagePage{}, err
	}
	in := c.messages
	if q.BeforeSeq > 0 {
		in = in[:c.upTo(q.BeforeSeq-1)]
	}
	in = in[min(c.upTo(q.AfterSeq), len(in)):]
	found := len(in)
	n := min(found, q.Limit)
	if q.Newest {
		in = in[found-n:]
		in = in[n-sessionstore.FitPage(in, true):]
	} else {
		in = in[:n]
		in = in[:sessionstore.FitPage(in, false)]
	}
	return sessionstore.MessagePage{Session: c.session.Clone(), Messages: clone(in), HasMore: len(in) < found}, nil
}

func (s *mapStore) TruncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (sessionstore.Session, error) {
	if err := s.guard.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.guard.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	t, err := t.Prepare()
	if err != nil {
		return sessionstore.Session{}, err
	}
	sp, now, end := s.begin()
	defer end()
	c, err := sp.find(id, now)
	if err != nil {
		return sessionstore.Session{}, err
	}
	remaining := c.upTo(t.ThroughSeq)
	out, err := t.Apply(c.session, int64(remaining), now)
	if err != nil {
		return sessionstore.Session{}, fmt.Errorf("mapstore: truncate %q: %w", id, err)
	}
	for _, m := range c.messages[remaining:] {
		delete(c.ids, m.ID)
	}
	c.messages = slices.Clip(c.messages[:remaining])
	sp.put(c, out)
	return out.Clone(), nil
}

// upTo returns how many messages have a Seq up to that.
func (c *conversation) upTo(seq int64) int {
	n, found := slices.BinarySearchFunc(c.messages, seq, func(m sessionstore.Message, seq int64) int {
		return cmp.Compare(m.Seq, seq)
	})
	if found {
		n++
	}
	return n
}

func (s *mapStore) Close() error {
	s.guard.Close()
	return nil
}

// clone copies what leaves the store: it is the caller's.
func clone(messages []sessionstore.Message) []sessionstore.Message {
	out := make([]sessionstore.Message, len(messages))
	for i, m := range messages {
		out[i] = m.Clone()
	}
	return out
}

// The test of a store of your own, in its package's tests, is three lines. Here the
// namespaces live in one mapDB, as they would in one database.
func Example() {
	db := new(mapDB)
	_ = func(t *testing.T) { // func TestConformance(t *testing.T) {
		storetest.Run(t, storetest.Backend{
			Open: func(tb testing.TB, c storetest.Config) sessionstore.SessionStore {
				return db.open(c.Namespace, c.Now)
			},
		})
	}
	// Output:
}
