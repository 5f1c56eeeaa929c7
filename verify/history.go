package verify

import (
	"errors"
	"fmt"
	"hash/maphash"
	"reflect"

	"github.com/sessionstore/sessionstore"
)

// tail is how many messages the newest page is asked for and compared with the walk.
const tail = 20

// history checks the messages of one session and what the session says about them.
func (c *checker) history(id string) error {
	var walked int64
	err := c.settle(id, func() ([]finding, error) {
		w := walk{checker: c, id: id, seen: map[uint64]int64{}, seed: maphash.MakeSeed()}
		err := w.run()
		walked = w.count
		if errors.Is(err, sessionstore.ErrSessionNotFound) {
			return nil, nil // deleted or expired meanwhile: Get and the list were compared before
		}
		return w.findings, err
	})
	c.report.Messages += walked
	return err
}

// walk is one reading of a history from its start, bounded by the LastSeq of its first
// page so that appends do not move the goal.
type walk struct {
	*checker
	id       string
	first    sessionstore.Session
	after    int64                  // the Seq read last
	count    int64                  // messages read
	newest   []sessionstore.Message // the last of them, at most tail
	seen     map[uint64]int64       // hash of a message id → its Seq: a fraction of the ids' size
	seed     maphash.Seed
	findings []finding
}

func (w *walk) add(rule, key, format string, args ...any) {
	// One bad session must not fill the memory; the first findings tell enough.
	if len(w.findings) <= w.opt.MaxProblems {
		w.findings = append(w.findings, found(rule, key, format, args...))
	}
}

func (w *walk) run() error {
	q := sessionstore.MessageQuery{Limit: w.opt.PageSize}
	for n := 0; ; n++ {
		page, err := w.store.ListMessages(w.ctx, w.id, q)
		if err != nil {
			if unreadable(err) {
				w.add("same", "messages", "its messages after %d cannot be read: %v", w.after, err)
				return nil
			}
			return fmt.Errorf("messages after %d: %w", w.after, err)
		}
		if n == 0 {
			w.first = page.Session
			if q.BeforeSeq = w.first.LastSeq + 1; w.first.LastSeq < 1 {
				q.BeforeSeq = 1
			}
			page.Messages = upTo(page.Messages, w.first.LastSeq, w)
		}
		if err := w.page(q, page); err != nil {
			return err
		}
		if !page.HasMore {
			break
		}
		if len(page.Messages) == 0 {
			w.add("messages", "empty page", "the page after %d is empty and has more", w.after)
			return nil
		}
		q.AfterSeq = w.after
	}
	return w.end(q.BeforeSeq)
}

// upTo reports messages beyond the LastSeq of the snapshot they came in.
func upTo(msgs []sessionstore.Message, last int64, w *walk) []sessionstore.Message {
	for i := range msgs {
		if msgs[i].Seq > last {
			w.add("append.atomic", fmt.Sprint("beyond ", msgs[i].Seq), "message %q has seq %d in a snapshot whose last_seq is %d", msgs[i].ID, msgs[i].Seq, last)
			return msgs[:i]
		}
	}
	return msgs
}

func (w *walk) page(q sessionstore.MessageQuery, page sessionstore.MessagePage) error {
	if page.Session.ID != w.id {
		w.add("messages", "session", "a page holds the session %q", page.Session.ID)
	}
	if page.Messages == nil {
		w.add("same", "nil page", "a page's Messages is nil, not an empty slice")
	}
	if len(page.Messages) > q.Limit {
		w.add("messages", "limit", "a page of %d messages for the limit %d", len(page.Messages), q.Limit)
	}
	for _, m := range page.Messages {
		if m.Seq <= w.after || q.BeforeSeq > 0 && m.Seq >= q.BeforeSeq {
			w.add("messages", fmt.Sprint("order ", m.Seq), "message %q has seq %d where one above %d and below %d belongs", m.ID, m.Seq, w.after, q.BeforeSeq)
		}
		for _, f := range inspectMessage(w.id, m) {
			w.add(f.rule, f.key, "%s", f.detail)
		}
		if err := w.unique(m); err != nil {
			return err
		}
		w.after = max(w.after, m.Seq)
		w.count++
		if len(w.newest) == tail {
			w.newest = append(w.newest[:0], w.newest[1:]...)
		}
		w.newest = append(w.newest, m)
	}
	return nil
}

// unique checks that no message before m has its id. Only hashes are kept; where two are
// the same, the earlier message is read again and decides.
func (w *walk) unique(m sessionstore.Message) error {
	h := maphash.String(w.seed, m.ID)
	seq, ok := w.seen[h]
	w.seen[h] = m.Seq
	if !ok || seq < 1 || seq == m.Seq {
		return nil
	}
	page, err := w.store.ListMessages(w.ctx, w.id, sessionstore.MessageQuery{AfterSeq: seq - 1, BeforeSeq: seq + 1, Limit: 1})
	if err != nil {
		return fmt.Errorf("message %d: %w", seq, err)
	}
	if len(page.Messages) == 1 && page.Messages[0].ID == m.ID {
		w.add("append.idempotent", m.ID, "the messages %d and %d have the same id %q", seq, m.Seq, m.ID)
	}
	return nil
}

// end compares the walk with the newest page and with the session's counters. Both say
// something only if nothing was truncated during the walk: then the gap between LastSeq
// and MessageCount, which only a truncate widens, is what it was at the start.
func (w *walk) end(before int64) error {
	page, err := w.store.ListMessages(w.ctx, w.id, sessionstore.MessageQuery{BeforeSeq: before, Limit: tail, Newest: true})
	if err != nil {
		return fmt.Errorf("newest messages: %w", err)
	}
	last := page.Session
	beyond, err := w.store.ListMessages(w.ctx, w.id, sessionstore.MessageQuery{AfterSeq: max(w.first.LastSeq, 0), Limit: 1})
	if err != nil {
		return fmt.Errorf("messages after %d: %w", w.first.LastSeq, err)
	}
	upTo(beyond.Messages, beyond.Session.LastSeq, w)
	if !last.CreatedAt.Equal(w.first.CreatedAt) || last.LastSeq < w.first.LastSeq ||
		last.LastSeq-last.MessageCount != w.first.LastSeq-w.first.MessageCount {
		w.findings = append(w.findings, finding{moving: true})
		return nil
	}
	if w.count != w.first.MessageCount {
		w.add("append.atomic", fmt.Sprint("count ", w.first.MessageCount-w.count), "message_count is %d, last_seq %d, and there are %d messages", w.first.MessageCount, w.first.LastSeq, w.count)
		return nil
	}
	// Of large messages a page holds fewer than it was asked for.
	fit := sessionstore.FitPage(w.newest, true)
	newest := w.newest[len(w.newest)-fit:]
	if len(page.Messages) != len(newest) || len(newest) > 0 && !reflect.DeepEqual(page.Messages, newest) {
		w.add("messages", "newest", "the newest page holds %s, the walk ended with %s", seqs(page.Messages), seqs(newest))
	}
	if more := w.count > int64(len(newest)); page.HasMore != more {
		w.add("messages", "has more", "the newest page's HasMore is %t with %d of %d messages", page.HasMore, len(page.Messages), w.count)
	}
	return nil
}

func seqs(msgs []sessionstore.Message) string {
	out := make([]int64, len(msgs))
	for i := range msgs {
		out[i] = msgs[i].Seq
	}
	return fmt.Sprint(out)
}
