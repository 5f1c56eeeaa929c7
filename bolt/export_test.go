package bolt

import (
	"context"

	"go.etcd.io/bbolt"
)

// Waiting returns how many writes stand in line.
func (s *Store) Waiting() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.waiting)
}

// Do runs a write of the test's own in the line.
func (s *Store) Do(ctx context.Context, plan func(tx *bbolt.Tx) (func() error, error)) error {
	return s.writer.do(ctx, &operation{plan: plan})
}

// HasWriter reports whether the package still keeps a line for db.
func HasWriter(db *bbolt.DB) bool {
	writers.Lock()
	defer writers.Unlock()
	return writers.m[db] != nil
}

var (
	ErrDamaged = errDamaged
	TimeKey    = timeKey
	ReadTime   = readTime
)

// Leading reports whether someone leads at this moment.
func (s *Store) Leading() bool { return len(s.writer.turn) == 1 }
