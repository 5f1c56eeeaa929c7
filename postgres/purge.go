package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// purgeChunk is how many sessions one transaction of PurgeExpired removes.
const purgeChunk = 64

// What is locked stays what it was until it is removed. What somebody else has locked is
// left to the next purge.
const (
	lockExpired = `SELECT sid, id FROM @sessions WHERE namespace = @namespace AND expires_at <= @now AND ` + readable + `
		ORDER BY expires_at LIMIT @limit FOR UPDATE SKIP LOCKED`
	lockStale = `SELECT sid FROM @restores WHERE touched_at < now() - interval '1 hour'
		ORDER BY sid LIMIT @limit FOR UPDATE SKIP LOCKED`

	removeMessages = `DELETE FROM @messages WHERE sid = ANY (@sids)`
	removeSessions = `DELETE FROM @sessions WHERE namespace = @namespace AND id = ANY (@ids)`
	removeRestores = `DELETE FROM @restores WHERE sid = ANY (@sids)`
)

// PurgeExpired removes up to limit expired sessions of the namespace (0: 1,000); see
// [sessionstore.Purger]. It also removes what is left of restores that did not finish
// and have not written for an hour, of all namespaces. It works in several transactions:
// after an error the count says how many sessions are gone already. A view has no such
// power: errors.ErrUnsupported.
func (h *handle) PurgeExpired(ctx context.Context, limit int) (int, error) {
	n, err := h.purgeExpired(ctx, limit)
	if err != nil {
		return n, fmt.Errorf("postgres: purge: %w", err)
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
	if err := h.purgeStale(ctx); err != nil {
		return 0, err
	}
	for removed < limit {
		most := min(limit-removed, purgeChunk)
		n, err := h.purgeSome(ctx, most)
		removed += n
		if err != nil || n < most {
			return removed, err
		}
	}
	return removed, nil
}

// purgeSome removes expired sessions in one transaction.
func (h *handle) purgeSome(ctx context.Context, most int) (removed int, err error) {
	err = retry(ctx, func() error {
		return pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, h.sql.lockExpired, h.namespace, h.clock(), most)
			if err != nil {
				return err
			}
			var sids []int64
			var ids []string
			var sid int64
			var id string
			_, err = pgx.ForEachRow(rows, []any{&sid, &id}, func() error {
				sids, ids = append(sids, sid), append(ids, id)
				return nil
			})
			removed = len(sids)
			if err != nil || removed == 0 {
				return err
			}
			b := &pgx.Batch{}
			b.Queue(h.sql.removeMessages, sids)
			b.Queue(h.sql.removeSessions, h.namespace, ids)
			return tx.SendBatch(ctx, b).Close()
		})
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// purgeStale removes what is left of restores.
func (h *handle) purgeStale(ctx context.Context) error {
	return retry(ctx, func() error {
		return pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, h.sql.lockStale, purgeChunk)
			if err != nil {
				return err
			}
			sids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			if err != nil || len(sids) == 0 {
				return err
			}
			b := &pgx.Batch{}
			b.Queue(h.sql.removeMessages, sids)
			b.Queue(h.sql.removeRestores, sids)
			return tx.SendBatch(ctx, b).Close()
		})
	})
}
