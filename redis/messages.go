package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sessionstore/sessionstore"
)

// AppendMessages adds a batch to a history, in one round trip; see [sessionstore.Append].
func (s *Store) AppendMessages(ctx context.Context, id string, a sessionstore.Append) (_ []sessionstore.Message, err error) {
	defer wrap(&err, "append to", id)
	if err := s.scope.Enter(ctx); err != nil {
		return nil, err
	}
	defer s.scope.Leave()
	if a, err = a.Prepare(id); err != nil {
		return nil, err
	}
	sp, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	now := s.opts.Now()
	out, err := timed(a, id, now)
	if err != nil {
		return nil, err
	}
	args := make([]any, 0, 4+2*len(out))
	args = append(args, stamp(now), s.scope.Owner(), id, optional(a.IfLastSeq))
	var buf []byte
	for i := range out {
		start := len(buf)
		if buf, err = appendMessage(buf, out[i]); err != nil {
			return nil, err
		}
		args = append(args, out[i].ID, buf[start:len(buf):len(buf)])
	}
	v, err := s.run(ctx, appendScript, sp.keys(id), args...)
	switch {
	case errors.Is(err, errRepeat):
		there, err := pairs(v)
		if err != nil {
			return nil, err
		}
		stored, err := decodeMessages(id, there)
		if err != nil {
			return nil, err
		}
		return a.Repeat(stored)
	case errors.Is(err, errRefused):
		return nil, refusal(id, v, func(of sessionstore.Session) error {
			_, _, err := a.Apply(of, now)
			return err
		})
	case err != nil:
		return nil, err
	}
	last, err := number(v, 0)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Seq = last + int64(i) + 1
	}
	return out, nil
}

// timed returns the messages of a prepared batch with their times, as Append.Apply sets
// them whatever the session; their Seqs the script finds out.
func timed(a sessionstore.Append, id string, now time.Time) ([]sessionstore.Message, error) {
	a.IfLastSeq = nil
	_, out, err := a.Apply(sessionstore.Session{ID: id, Status: sessionstore.StatusActive}, now)
	return out, err
}

// optional writes a condition as the scripts take it.
func optional(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func number(v []any, i int) (int64, error) {
	if i >= len(v) {
		return 0, errDamaged
	}
	text, ok := v[i].(string)
	if !ok {
		return 0, errDamaged
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errDamaged
	}
	return n, nil
}

// refusal lets the rule say why a script has refused a session of that status and last
// seq.
func refusal(id string, v []any, rule func(sessionstore.Session) error) error {
	last, err := number(v, 1)
	if err != nil {
		return err
	}
	status, ok := v[0].(string)
	if !ok {
		return errDamaged
	}
	if err := rule(sessionstore.Session{ID: id, Status: sessionstore.Status(status), LastSeq: last}); err != nil {
		return err
	}
	return fmt.Errorf("a script refused status %q and last seq %d, the rules do not", status, last)
}

// ListMessages returns one page of a history; see [sessionstore.MessageQuery].
func (s *Store) ListMessages(ctx context.Context, id string, q sessionstore.MessageQuery) (_ sessionstore.MessagePage, err error) {
	defer wrap(&err, "list messages of", id)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.MessagePage{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.MessagePage{}, err
	}
	if q, err = q.Prepare(); err != nil {
		return sessionstore.MessagePage{}, err
	}
	sp, err := s.open(ctx)
	if err != nil {
		return sessionstore.MessagePage{}, err
	}
	r, err := s.read(ctx, sp, id, q)
	if err != nil {
		return sessionstore.MessagePage{}, err
	}
	page := sessionstore.MessagePage{Session: r.session.Session, HasMore: r.more}
	if page.Messages, err = decodeMessages(id, r.entries); err != nil {
		return sessionstore.MessagePage{}, err
	}
	if q.Newest {
		slices.Reverse(page.Messages)
	}
	if n := sessionstore.FitPage(page.Messages, q.Newest); n < len(page.Messages) {
		page.HasMore = true
		if q.Newest {
			page.Messages = page.Messages[len(page.Messages)-n:]
		} else {
			page.Messages = page.Messages[:n]
		}
	}
	return page, nil
}

// reading is a page as it is stored, from the end that it was read from.
type reading struct {
	session stored
	entries []entry
	more    bool
}

func (s *Store) read(ctx context.Context, sp *space, id string, q sessionstore.MessageQuery) (reading, error) {
	low, high, newest := "-inf", "+inf", "0"
	if q.AfterSeq > 0 {
		low = fmt.Sprintf("(%d", q.AfterSeq)
	}
	if q.BeforeSeq > 0 {
		high = fmt.Sprintf("(%d", q.BeforeSeq)
	}
	if q.Newest {
		newest = "1"
	}
	v, err := s.run(ctx, messagesScript, sp.keys(id),
		stamp(s.opts.Now()), s.scope.Owner(), low, high, q.Limit+1, newest, sessionstore.MaxPageBytes)
	if err != nil {
		return reading{}, err
	}
	if len(v) != 4 {
		return reading{}, errDamaged
	}
	record, isRecord := v[0].([]any)
	list, isList := v[1].([]any)
	full, isFlag := v[2].(int64)
	width, isWidth := v[3].(int64)
	if !isRecord || !isList || !isFlag || !isWidth {
		return reading{}, errDamaged
	}
	r := reading{more: full == 1}
	if r.session, err = decodeRecord(record); err != nil {
		return reading{}, err
	}
	switch {
	case width != 1:
		r.entries, err = pairs(list)
	case !q.Newest:
		r.entries, err = numbered(list, q.AfterSeq+1, 1)
	case q.BeforeSeq > 0:
		r.entries, err = numbered(list, min(r.session.LastSeq, q.BeforeSeq-1), -1)
	default:
		r.entries, err = numbered(list, r.session.LastSeq, -1)
	}
	if err != nil {
		return reading{}, err
	}
	if len(r.entries) > q.Limit {
		r.entries, r.more = r.entries[:q.Limit], true
	}
	return r, nil
}

// TruncateMessages removes the newest messages; see [sessionstore.Truncate].
func (s *Store) TruncateMessages(ctx context.Context, id string, t sessionstore.Truncate) (_ sessionstore.Session, err error) {
	defer wrap(&err, "truncate", id)
	if err := s.scope.Enter(ctx); err != nil {
		return sessionstore.Session{}, err
	}
	defer s.scope.Leave()
	if err := sessionstore.CheckID(id); err != nil {
		return sessionstore.Session{}, err
	}
	if t, err = t.Prepare(); err != nil {
		return sessionstore.Session{}, err
	}
	sp, err := s.open(ctx)
	if err != nil {
		return sessionstore.Session{}, err
	}
	now := s.opts.Now()
	v, err := s.run(ctx, truncateScript, sp.keys(id),
		stamp(now), s.scope.Owner(), id, t.ThroughSeq, optional(t.IfLastSeq), newToken())
	if errors.Is(err, errRefused) {
		return sessionstore.Session{}, refusal(id, v, func(of sessionstore.Session) error {
			_, err := t.Apply(of, 0, now)
			return err
		})
	}
	if err != nil {
		return sessionstore.Session{}, err
	}
	return oneRecord(v)
}
