package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
)

// CompactOptions are the settings of Compact. The zero value is ready to use.
type CompactOptions struct {
	// Timeout is how long to wait while another has the file; 0 is DefaultTimeout, and a
	// negative one tries once.
	Timeout time.Duration
}

// CompactResult says what Compact has done.
type CompactResult struct {
	Before, After int64 // the file's length in bytes
}

// Compact rewrites the database file at path without the space that deletes have left
// free in it, while no one else has it open. All of the file is copied, other programs'
// buckets too. The new file is complete, and on disk, before it takes the old one's place
// and permissions; on failure the old one is untouched and the new one removed. It takes
// the new file's size of free space, in the same directory. A file that would not become
// smaller is left as it is.
//
// Errors: those of Open for an existing file.
func Compact(ctx context.Context, path string, o *CompactOptions) (CompactResult, error) {
	if o == nil {
		o = &CompactOptions{}
	}
	r, err := compact(ctx, path, o.Timeout)
	if err != nil {
		return CompactResult{}, fmt.Errorf("bolt: compact %s: %w", path, err)
	}
	return r, nil
}

func compact(ctx context.Context, path string, timeout time.Duration) (r CompactResult, err error) {
	src, err := openFile(ctx, path, ReadWrite, timeout)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	// The file is replaced, not a link to it.
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return r, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".compact-*")
	if err != nil {
		return r, err
	}
	temp := f.Name()
	defer func() {
		if temp != "" {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	err = errors.Join(f.Chmod(info.Mode().Perm()), keepOwner(f, info), f.Close())
	if err != nil {
		return r, err
	}
	if r.After, err = rewrite(ctx, temp, src); err != nil {
		return r, err
	}
	if r.Before = info.Size(); r.After >= r.Before {
		r.After = r.Before
		return r, nil
	}
	if err := finish(temp, r.After); err != nil {
		return r, err
	}
	if runtime.GOOS == "windows" {
		// There a file that is open cannot be replaced: its lock ends a moment early.
		if err := src.Close(); err != nil {
			return r, err
		}
	}
	if err := os.Rename(temp, path); err != nil {
		return r, err
	}
	temp = ""
	return r, syncDir(filepath.Dir(path))
}

// rewrite copies all of src into a new database in the empty file at path, and returns
// how much of that file is in use.
func rewrite(ctx context.Context, path string, src *bbolt.DB) (size int64, err error) {
	dst, err := bbolt.Open(path, fileMode, &bbolt.Options{NoSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	err = contained(src, func() error {
		return src.View(func(tx *bbolt.Tx) error {
			c := &copier{ctx: ctx, db: dst, most: tx.Size()}
			defer c.rollback()
			err := tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
				return c.bucket([][]byte{name}, b)
			})
			if err != nil {
				return err
			}
			return c.commit()
		})
	})
	if err != nil {
		return 0, err
	}
	err = dst.View(func(tx *bbolt.Tx) error { size = tx.Size(); return nil })
	return size, err
}

// finish cuts the new file to what is in use, since bbolt lengthens a file ahead of its
// need, and brings it to disk. The file must not be mapped: on Windows it could not be cut.
func finish(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync(), f.Close())
}

// copier writes to a database in transactions of a bounded size.
type copier struct {
	ctx   context.Context
	db    *bbolt.DB
	tx    *bbolt.Tx // nil between two transactions
	size  int       // bytes written in it
	total int64     // bytes written in all
	most  int64     // the source's size: it cannot hold more, unless its pages go round
}

const maxCopied = 8 << 20

// bucket copies one bucket, with those in it, to the path of names.
func (c *copier) bucket(path [][]byte, src *bbolt.Bucket) error {
	dst, err := c.open(path)
	if err != nil {
		return err
	}
	if err := dst.SetSequence(src.Sequence()); err != nil {
		return err
	}
	return src.ForEach(func(k, v []byte) error {
		if v == nil {
			err := c.bucket(append(path[:len(path):len(path)], k), src.Bucket(k))
			dst = nil // it may have been committed
			return err
		}
		if c.size >= maxCopied {
			if err := c.commit(); err != nil {
				return err
			}
			dst = nil
		}
		if dst == nil {
			if dst, err = c.open(path); err != nil {
				return err
			}
		}
		c.size += len(k) + len(v)
		if c.total += int64(len(k) + len(v)); c.total > c.most {
			return fmt.Errorf("%w: it says to hold more than its %d bytes", errDamaged, c.most)
		}
		return dst.Put(k, v)
	})
}

// open returns the bucket at the path, which it makes if need be.
func (c *copier) open(path [][]byte) (b *bbolt.Bucket, err error) {
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	if c.tx == nil {
		if c.tx, err = c.db.Begin(true); err != nil {
			return nil, err
		}
	}
	if b, err = c.tx.CreateBucketIfNotExists(path[0]); err != nil {
		return nil, err
	}
	b.FillPercent = 1 // the keys come in order, on every level
	for _, name := range path[1:] {
		if b, err = b.CreateBucketIfNotExists(name); err != nil {
			return nil, err
		}
		b.FillPercent = 1
	}
	return b, nil
}

func (c *copier) commit() error {
	if c.tx == nil {
		return nil
	}
	// The copied keys and values lie in the source's pages, so that Commit panics where
	// those do. The transaction is kept until it has ended: rollback frees its lock.
	if err := c.tx.Commit(); err != nil {
		return err
	}
	c.tx, c.size = nil, 0
	return nil
}

// rollback ends a transaction that was not committed. What it returns for one whose
// Commit failed says only that.
func (c *copier) rollback() {
	if c.tx != nil {
		_ = c.tx.Rollback()
	}
}
