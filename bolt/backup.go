package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"go.etcd.io/bbolt"
)

// Backup writes a copy of the whole database file, of all namespaces, as it is at one
// moment, and returns its length in bytes. The database stays in use meanwhile. The copy
// is a database file itself.
//
// It is made on disk first, in a file beside the database that has no name (on Windows:
// that is removed at the end), and only then goes to w: so a slow w, or one that uses the
// store, holds up no write. It takes the file's size of free space. A read-only store
// makes it in the directory for temporary files instead.
func (s *Store) Backup(ctx context.Context, w io.Writer) (int64, error) {
	n, err := s.backup(ctx, w)
	if err != nil {
		return n, fmt.Errorf("bolt: backup of %s: %w", s.db.Path(), err)
	}
	return n, nil
}

func (s *Store) backup(ctx context.Context, w io.Writer) (n int64, err error) {
	if err := s.scope.Enter(ctx); err != nil {
		return 0, err
	}
	defer s.scope.Leave()
	dir := filepath.Dir(s.db.Path())
	if s.db.IsReadOnly() {
		dir = os.TempDir()
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(s.db.Path())+".backup-*")
	if err != nil {
		return 0, err
	}
	// Without a name nothing is left of it by a crash. Where an open file cannot lose its
	// name, it does so after it is closed.
	removed := os.Remove(f.Name()) == nil
	defer func() {
		err = errors.Join(err, f.Close())
		if !removed {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := s.copyTo(whileLive{ctx, f}); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err() // bbolt hides what the writer returned
		}
		return 0, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(whileLive{ctx, w}, f)
}

func (s *Store) copyTo(w io.Writer) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return contained(s.db, func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			_, err := tx.WriteTo(w)
			return err
		})
	})
}

// whileLive refuses to write once its context is done.
type whileLive struct {
	ctx context.Context
	w   io.Writer
}

func (l whileLive) Write(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	return l.w.Write(p)
}
