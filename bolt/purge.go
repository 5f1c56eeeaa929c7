package bolt

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// purgeChunk is how many sessions one transaction of PurgeExpired looks at: others get
// their turn in between.
const purgeChunk = 64

// PurgeExpired removes up to limit expired sessions of the namespace (0: 1,000), and what
// a crash left of restores; see [sessionstore.Purger]. Removed space is used again, and
// leaves the file with Compact. It works in several transactions: after an error the
// count says how many sessions are gone already. A view has no such power:
// errors.ErrUnsupported.
func (h *handle) PurgeExpired(ctx context.Context, limit int) (int, error) {
	n, err := h.purgeExpired(ctx, limit)
	if err != nil {
		return n, fmt.Errorf("bolt: purge: %w", err)
	}
	return n, nil
}

func (h *handle) purgeExpired(ctx context.Context, limit int) (removed int, err error) {
	if err := h.scope.Enter(ctx); err != nil {
		return 0, err
	}
	defer h.scope.Leave()
	if limit, err = h.scope.PurgeLimit(limit); err != nil {
		return 0, err
	}
	if err := h.purgeStaged(ctx); err != nil {
		return 0, err
	}
	for removed < limit {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		n, more, err := h.purgeSome(ctx, min(limit-removed, purgeChunk))
		removed += n
		if err != nil || !more {
			return removed, err
		}
	}
	return removed, nil
}

// purgeSome looks at the sessions that the purge index holds under the earliest times,
// at most most of them, and removes those that have expired. The others are moved to
// where they belong by now. More says that there may be further ones.
func (h *handle) purgeSome(ctx context.Context, most int) (removed int, more bool, err error) {
	err = h.write(ctx, func(sp *space, now time.Time) (func() error, error) {
		removed, more = 0, false
		if sp.index == nil {
			return nil, nil
		}
		var due [][]byte
		c := sp.index.Cursor()
		prefix, end := []byte{byExpiry}, timeKey(byExpiry, now.Add(time.Microsecond), "")
		for key, _ := c.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix) && bytes.Compare(key, end) < 0; key, _ = c.Next() {
			if len(due) == most {
				more = true
				break
			}
			due = append(due, bytes.Clone(key))
		}
		entries := make([]entry, len(due))
		for i, key := range due {
			id := key[1+microsecondsLen:]
			e, ok, err := sp.findKey(id)
			if err != nil {
				return nil, fmt.Errorf("session %q: %w", id, err)
			}
			if !ok {
				return nil, fmt.Errorf("index entry without its session %q: %w", id, errDamaged)
			}
			entries[i] = e
			if e.session.Expired(now) {
				removed++
			}
		}
		if len(due) == 0 {
			return nil, nil
		}
		return func() error {
			for i, e := range entries {
				if e.session.Expired(now) {
					if err := sp.remove(e); err != nil {
						return err
					}
					continue
				}
				if err := sp.index.Delete(due[i]); err != nil {
					return err
				}
				if err := sp.putExpiry(e.bucket, e.session); err != nil {
					return err
				}
			}
			return nil
		}, nil
	})
	if err != nil {
		return 0, false, err
	}
	return removed, more, nil
}

// purgeStaged removes the staged buckets that no restore uses.
func (h *handle) purgeStaged(ctx context.Context) error {
	return h.write(ctx, func(sp *space, _ time.Time) (func() error, error) {
		staged := sp.tx.Bucket(sp.names.staged)
		if staged == nil {
			return nil, nil
		}
		var tokens [][]byte
		c := staged.Cursor()
		for key, _ := c.First(); key != nil; key, _ = c.Next() {
			if !h.writer.isStaging(string(key)) {
				tokens = append(tokens, bytes.Clone(key))
			}
		}
		if len(tokens) == 0 {
			return nil, nil
		}
		return func() error {
			for _, token := range tokens {
				if err := staged.DeleteBucket(token); err != nil {
					return err
				}
			}
			return nil
		}, nil
	})
}
