package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/scope"
)

// Mode says what Open may do to the file.
type Mode string

// The modes. A store that is read-only shares the file with other read-only ones, in
// this process or another; otherwise a file has one user at a time.
const (
	ReadWriteCreate Mode = "rwc" // makes the file if there is none; the default
	ReadWrite       Mode = "rw"  // needs the file
	ReadOnly        Mode = "ro"  // needs the file, and never writes to it
)

// DefaultTimeout is how long Open waits for another user of the file.
const DefaultTimeout = time.Second

// OpenOptions are the settings of Open. The zero value is ready to use.
type OpenOptions struct {
	Options

	// Timeout is how long to wait while another has the file; 0 is DefaultTimeout, and a
	// negative one tries once.
	Timeout time.Duration

	// Mode is what may be done to the file; "" is ReadWriteCreate.
	Mode Mode
}

const (
	fileMode  = 0o600
	lockRetry = 20 * time.Millisecond
)

// Open opens the database file at path and returns a store that owns it: its Close
// closes the file. A new file has mode 0600; directories are not made.
//
// Errors: ErrLocked if another has the file for longer than the timeout (on Linux it
// names the process, where that can be found out); fs.ErrNotExist if the mode needs the
// file; ErrSchemaTooNew; ErrInvalid; the context's, also while waiting for the lock. A
// file that is no database, or has been cut, is an error that names the path, and is left
// as it is.
func Open(ctx context.Context, path string, o *OpenOptions) (*Store, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	if err := scope.CheckNamespace(o.Namespace); err != nil { // before there is a file
		return nil, fmt.Errorf("bolt: open %s: %w", path, err)
	}
	db, err := openFile(ctx, path, o.Mode, o.Timeout)
	if err != nil {
		return nil, fmt.Errorf("bolt: open %s: %w", path, err)
	}
	s, err := New(db, &o.Options)
	if err != nil {
		return nil, fmt.Errorf("bolt: open %s: %w", path, errors.Join(err, db.Close()))
	}
	s.owned = true
	return s, nil
}

// openFile opens the database, and waits for its lock, in steps of lockRetry: bbolt's own
// wait heeds no context.
func openFile(ctx context.Context, path string, mode Mode, timeout time.Duration) (*bbolt.DB, error) {
	switch mode {
	case "":
		mode = ReadWriteCreate
	case ReadWriteCreate, ReadWrite, ReadOnly:
	default:
		return nil, &sessionstore.InvalidError{Field: "mode", Reason: fmt.Sprintf("%.20q is none of rwc, rw and ro", string(mode))}
	}
	if path == "" {
		return nil, &sessionstore.InvalidError{Field: "path", Reason: "must not be empty"}
	}
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	deadline := time.Now().Add(timeout)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		db, err := tryOpen(path, mode)
		if !errors.Is(err, errBusy) {
			return db, err
		}
		wait := min(time.Until(deadline), lockRetry)
		if wait <= 0 {
			return nil, lockedError(path)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// errBusy is for a file whose lock another has at this moment.
var errBusy = errors.New("busy")

func lockedError(path string) error {
	if who := lockHolder(path); who != "" {
		return fmt.Errorf("%w by %s", sessionstore.ErrLocked, who)
	}
	return sessionstore.ErrLocked
}

// tryOpen opens the file once. Errors: errBusy.
func tryOpen(path string, mode Mode) (db *bbolt.DB, err error) {
	isNew := false
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist) && mode == ReadWriteCreate:
		isNew = true
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: not a regular file", bolterrors.ErrInvalid)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var file *os.File
	defer func() {
		// Bbolt panics on what it finds in a broken file, and leaves it locked, open and
		// mapped. Only the map cannot be undone from here.
		if p := recover(); p != nil {
			db, err = nil, fmt.Errorf("%w: %w", errDamaged, pageError{p})
			if file != nil {
				err = errors.Join(err, unlock(file), file.Close())
			}
		}
	}()
	db, err = bbolt.Open(path, fileMode, &bbolt.Options{
		Timeout:      1, // one attempt: none would be for ever
		ReadOnly:     mode == ReadOnly,
		FreelistType: bbolt.FreelistMapType,
		// Bbolt copies all that a transaction holds when its map has to grow.
		InitialMmapSize: initialMap(mode),
		OpenFile: func(name string, flag int, perm os.FileMode) (*os.File, error) {
			if mode != ReadWriteCreate {
				flag &^= os.O_CREATE
			}
			f, err := os.OpenFile(name, flag, perm)
			if err != nil {
				return nil, err
			}
			if err := checkHeader(f, mode); err != nil {
				return nil, errors.Join(err, f.Close())
			}
			file = f
			return f, nil
		},
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, errBusy
	}
	if err != nil {
		return nil, err
	}
	db.AllocSize = min(db.AllocSize, growth)
	if err := checkOpened(db, file, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if isNew {
		if err := syncDir(filepath.Dir(path)); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// growth is by how much more than it needs a file is lengthened, in bytes. Bbolt's own 16
// MiB would be that of every new file, because the map is larger than that from the start.
const growth = 1 << 20

// initialMap is how much of the address space a database that is written to takes from
// the start: there is enough of it in 64 bits. Windows makes the file as long as its map.
func initialMap(mode Mode) int {
	if mode == ReadOnly || runtime.GOOS == "windows" || strconv.IntSize < 64 {
		return 0
	}
	return 1 << 30
}

// checkHeader refuses a file that is no bbolt database, or has been cut, before bbolt sees
// it: it would make one of an empty file, on Windows lengthens any other before it looks,
// and faults on pages that are gone.
func checkHeader(f *os.File, mode Mode) error {
	used, found := usedSize(f)
	info, err := f.Stat() // after the meta pages were read: a writer lengthens the file first
	switch {
	case err != nil:
		return err
	case info.Size() == 0 && mode == ReadWriteCreate:
		return nil
	case info.Size() == 0:
		return fmt.Errorf("%w: the file is empty", bolterrors.ErrInvalid)
	case !found:
		return fmt.Errorf("%w: not a bbolt file", bolterrors.ErrInvalid)
	case info.Size() < used:
		return fmt.Errorf("%w: the file has %d bytes, its pages take %d", errDamaged, info.Size(), used)
	}
	return nil
}

// usedSize returns the bytes that the pages of a database take, after the newer of its
// meta pages; 0 if none of those is in order. Found is false for what is no database.
//
// Each of the two meta pages begins with a page header of 16 bytes; what follows is below.
// The second one's place is the page size, from 1 KiB to 16 MiB.
func usedSize(f io.ReaderAt) (used int64, found bool) {
	const (
		magic      = 0xED0CDAED // in bytes 0 to 3
		atPageSize = 8
		atPages    = 40
		atTxID     = 48
		atChecksum = 56 // FNV-1a of all before it
		size       = 64
	)
	var newest uint64
	for at := int64(0); at <= 16<<20; at = max(1024, at*2) {
		var b [size]byte
		if n, _ := f.ReadAt(b[:], at+16); n < 4 || binary.NativeEndian.Uint32(b[:]) != magic {
			continue
		}
		found = true
		pageSize := int64(binary.NativeEndian.Uint32(b[atPageSize:]))
		sum := fnv.New64a()
		_, _ = sum.Write(b[:atChecksum])
		if sum.Sum64() != binary.NativeEndian.Uint64(b[atChecksum:]) || at > 0 && at != pageSize {
			continue
		}
		pages, txid := binary.NativeEndian.Uint64(b[atPages:]), binary.NativeEndian.Uint64(b[atTxID:])
		if pages <= math.MaxInt64>>24 && (used == 0 || txid > newest) {
			used, newest = int64(pages)*pageSize, txid
		}
	}
	return used, found
}

// checkOpened looks at the file now that it is locked.
func checkOpened(db *bbolt.DB, file *os.File, path string) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	// Between the opening and the lock, Compact may have put another file in its place.
	if there, err := os.Stat(path); err != nil || !os.SameFile(info, there) {
		return errBusy
	}
	return db.View(func(tx *bbolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: the file has %d bytes, its pages take %d", errDamaged, info.Size(), tx.Size())
		}
		_, err := checkFormat(tx)
		return err
	})
}
