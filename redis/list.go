package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/sessionstore/sessionstore"
)

const (
	// maxSkipped is how many sessions one call of ListSessions passes over, because they
	// have expired or do not match, before it ends the page short.
	maxSkipped = 1000

	// minWalk is how many places a filtered list looks at in one step at least.
	minWalk = 100
)

// ListSessions returns one page of the sessions that match; see
// [sessionstore.SessionQuery]. A call reads at most q.Limit + 1,000 sessions.
//
// The places of a page and the sessions there are read one after the other. A session
// that is written to in between is shown as it is by then, in the order of what is
// shown, unless that belongs to a page before.
func (s *Store) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (_ sessionstore.SessionPage, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("redis: list sessions: %w", err)
		}
	}()
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.SessionPage{}, err
	}
	defer s.scope.Leave()
	q.UserID = s.scope.User(q.UserID)
	if q, err = q.Prepare(); err != nil {
		return sessionstore.SessionPage{}, err
	}
	after, bounded, err := q.After()
	if err != nil {
		return sessionstore.SessionPage{}, err
	}
	sp, err := s.open(ctx)
	if err != nil {
		return sessionstore.SessionPage{}, err
	}
	w := walk{store: s, space: sp, owner: ownerOf(q)}
	if bounded {
		w.below = stamp(after.UpdatedAt) + after.ID
	}
	page := sessionstore.SessionPage{Sessions: []sessionstore.Session{}}
	for skipped := 0; ; {
		want := q.Limit - len(page.Sessions)
		if q.AgentName != "" || len(q.Statuses) > 0 {
			want = max(want, minWalk)
		}
		want = min(want, maxSkipped-skipped+q.Limit-len(page.Sessions))
		places, err := w.next(ctx, want)
		if err != nil {
			return sessionstore.SessionPage{}, err
		}
		found, err := w.sessions(ctx, places)
		if err != nil {
			return sessionstore.SessionPage{}, err
		}
		now := s.opts.Now()
		full := false
		for i, f := range found {
			if f == nil || !q.Matches(*f, now) {
				skipped++
			} else {
				page.Sessions = append(page.Sessions, *f)
			}
			if len(page.Sessions) == q.Limit || skipped == maxSkipped {
				full = true
				if i < len(found)-1 || w.more {
					page.Next = places[i].Cursor()
				}
				break
			}
		}
		if full || !w.more {
			break
		}
	}
	page.Sessions = slices.DeleteFunc(page.Sessions, func(s sessionstore.Session) bool {
		return bounded && s.Key().Compare(after) >= 0
	})
	slices.SortFunc(page.Sessions, func(a, b sessionstore.Session) int { return b.Key().Compare(a.Key()) })
	return page, nil
}

// ownerOf returns how the members of the index begin that have all the query asks for. A
// parent has fewer sessions than a user.
func ownerOf(q sessionstore.SessionQuery) string {
	switch {
	case q.ParentID != "":
		return byParent + q.ParentID
	case q.UserID != "":
		return byUser + q.UserID
	}
	return byTime
}

// walk goes down the index of all shards at once.
type walk struct {
	store *Store
	space *space
	owner string
	below string // the text of the place that was walked to; "": begin at the newest
	more  bool   // there are places below it
}

// next returns the next places, at most n, from the newest.
func (w *walk) next(ctx context.Context, n int) ([]place, error) {
	members := make([][]string, len(w.space.tags))
	err := w.space.eachShard(func(shard int) error {
		by := &goredis.ZRangeBy{Min: "[" + w.owner + "\n", Max: "(" + w.owner + "\n" + w.below, Count: int64(n) + 1}
		if w.below == "" {
			by.Max = "(" + w.owner + "\v" // the character after the line feed
		}
		var cmd *goredis.StringSliceCmd
		err := w.store.pipe(ctx, func(p goredis.Pipeliner) {
			cmd = p.ZRevRangeByLex(ctx, w.space.tags[shard]+"index", by)
		})
		if err == nil {
			members[shard] = cmd.Val()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var places []place
	for _, m := range slices.Concat(members...) {
		p, err := parsePlace(m)
		if err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	if len(w.space.tags) > 1 {
		slices.SortFunc(places, func(a, b place) int { return b.Compare(a.SessionKey) })
	}
	if w.more = len(places) > n; w.more {
		places = places[:n]
	}
	if len(places) > 0 {
		w.below = places[len(places)-1].text
	}
	return places, nil
}

// sessions reads the sessions at the places; nil stands for one that was deleted
// meanwhile.
func (w *walk) sessions(ctx context.Context, places []place) ([]*sessionstore.Session, error) {
	ids := make([][]string, len(w.space.tags)) // of each shard
	at := make([][]int, len(w.space.tags))     // their indexes in places
	for i, p := range places {
		shard := w.space.shard(p.ID)
		ids[shard] = append(ids[shard], p.ID)
		at[shard] = append(at[shard], i)
	}
	out := make([]*sessionstore.Session, len(places))
	err := w.space.eachShard(func(shard int) error {
		if len(ids[shard]) == 0 {
			return nil
		}
		records, err := w.store.records(ctx, w.space, ids[shard])
		if err != nil {
			return err
		}
		for i, v := range records {
			r, err := decodeRecord(v)
			if errors.Is(err, sessionstore.ErrSessionNotFound) {
				continue
			}
			if err != nil {
				return fmt.Errorf("session %q: %w", ids[shard][i], err)
			}
			out[at[shard][i]] = &r.Session
		}
		return nil
	})
	return out, err
}
