package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sessionstore/sessionstore"
)

const (
	// maxSkipped is how many sessions one call of ListSessions passes over, because they
	// have expired or do not match, before it ends the page short.
	maxSkipped = 1000

	// minWalk is how many sessions a filtered list looks at in one step at least.
	minWalk = 100
)

// ListSessions returns one page of the sessions that match; see
// [sessionstore.SessionQuery]. A call reads at most q.Limit + 1,001 sessions.
func (s *Store) ListSessions(ctx context.Context, q sessionstore.SessionQuery) (_ sessionstore.SessionPage, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("mongo: list sessions: %w", err)
		}
	}()
	if ctx, err = s.enter(ctx); err != nil {
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
	w := walk{store: s, q: q}
	if bounded {
		w.below = place(after.UpdatedAt, after.ID)
	}
	page := sessionstore.SessionPage{Sessions: []sessionstore.Session{}}
	for skipped := 0; ; {
		want := q.Limit - len(page.Sessions)
		if q.AgentName != "" || len(q.Statuses) > 0 {
			want = max(want, minWalk)
		}
		want = min(want, maxSkipped-skipped+q.Limit-len(page.Sessions))
		now := s.clock()
		found, err := w.next(ctx, want)
		if err != nil {
			return sessionstore.SessionPage{}, err
		}
		for i := range found {
			one, err := found[i].session()
			if err != nil {
				return sessionstore.SessionPage{}, fmt.Errorf("session %q: %w", found[i].Key, err)
			}
			if q.Matches(one, now) {
				page.Sessions = append(page.Sessions, one)
			} else {
				skipped++
			}
			if len(page.Sessions) == q.Limit || skipped == maxSkipped {
				if i < len(found)-1 || w.more {
					page.Next = one.Key().Cursor()
				}
				return page, nil
			}
		}
		if !w.more {
			return page, nil
		}
	}
}

// walk goes down the lists by place.
type walk struct {
	store *Store
	q     sessionstore.SessionQuery
	below string // the place that was walked to; "": begin at the newest
	more  bool   // there are places below it
}

// next returns the next heads, at most n, from the newest.
func (w *walk) next(ctx context.Context, n int) ([]head, error) {
	places := bson.D{{Key: "$gt", Value: ""}} // a head without a place is no session's
	if w.below != "" {
		places = append(places, bson.E{Key: "$lt", Value: w.below})
	}
	filter := bson.D{{Key: "ns", Value: w.store.opts.Namespace}}
	switch { // a parent has fewer sessions than a user
	case w.q.ParentID != "":
		filter = append(filter, bson.E{Key: "parent", Value: w.q.ParentID})
	case w.q.UserID != "":
		filter = append(filter, bson.E{Key: "user", Value: w.q.UserID})
	}
	filter = append(filter, bson.E{Key: "place", Value: places})
	cursor, err := w.store.heads.Find(ctx, filter, options.Find().
		SetSort(bson.D{{Key: "place", Value: -1}}).
		SetLimit(int64(n)+1).
		SetProjection(withoutMessages))
	if err != nil {
		return nil, heeded(ctx, err)
	}
	var found []head
	if err := cursor.All(ctx, &found); err != nil {
		return nil, heeded(ctx, err)
	}
	if w.more = len(found) > n; w.more {
		found = found[:n]
	}
	if len(found) > 0 {
		w.below = found[len(found)-1].Place
	}
	return found, nil
}
