package bolt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
)

func TestCompact(t *testing.T) {
	t.Parallel()
	path := filled(t, "one")
	s := open(t, path, nil)
	in, messages := exported(3000, 4000)
	in.ID = "large"
	if _, err := s.RestoreSession(t.Context(), in, messages); err != nil {
		t.Fatalf("RestoreSession: got %v, want nil", err)
	}
	if _, err := sessionstore.ForkSession(t.Context(), s, "large", sessionstore.Fork{ID: "fork"}); err != nil {
		t.Fatalf("ForkSession: got %v, want nil", err)
	}
	if err := s.DeleteSession(t.Context(), "large"); err != nil {
		t.Fatalf("DeleteSession: got %v, want nil", err)
	}
	want := everything(t, s)
	if _, err := bolt.Compact(t.Context(), path, &bolt.CompactOptions{Timeout: -1}); !errors.Is(err, sessionstore.ErrLocked) {
		t.Errorf("Compact of an open file: got %v, want ErrLocked", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("Close: got %v, want nil", err)
	}
	// What others keep in the file stays, too.
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatalf("open: got %v, want nil", err)
	}
	err = errors.Join(db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("other"))
		if err != nil {
			return err
		}
		return errors.Join(b.SetSequence(7), b.Put([]byte("k"), nil))
	}), db.Close())
	if err != nil {
		t.Fatalf("Update: got %v, want nil", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatalf("Chmod: got %v, want nil", err)
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatalf("Symlink: got %v, want nil", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bolt.Compact(ctx, path, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Compact with a context that is done: got %v, want %v", err, context.Canceled)
	}
	got, err := bolt.Compact(t.Context(), link, nil)
	info, serr := os.Stat(path)
	if err != nil || serr != nil || got.After >= got.Before || got.After != info.Size() {
		t.Errorf("Compact: got %+v, %v, want After less than Before and %d", got, err, info.Size())
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("mode: got %v, want 0640", info.Mode())
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link: got %v, %v, want it to be one still", info.Mode(), err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("files after Compact: got %v, %v, want one", files, err)
	}
	if got := everything(t, open(t, path, &bolt.OpenOptions{Mode: bolt.ReadOnly})); got != want {
		t.Errorf("after Compact: got %d bytes of sessions and messages, want the same %d", len(got), len(want))
	}
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("open: got %v, want nil", err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		if b := tx.Bucket([]byte("other")); b == nil || b.Sequence() != 7 || b.Get([]byte("k")) == nil {
			t.Errorf("another program's bucket: got %v, want it as it was", b)
		}
		return nil
	})
	if err != nil {
		t.Errorf("View: got %v, want nil", err)
	}
	if _, err := bolt.Compact(t.Context(), filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Compact of nothing: got %v, want %v", err, fs.ErrNotExist)
	}
}

// rawFile makes a database with a bucket of values of the given sizes, and returns its path
// and how much of it is in use.
func rawFile(t *testing.T, sizes ...int) (path string, used int64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: 4096, NoSync: true})
	if err != nil {
		t.Fatalf("open: got %v, want nil", err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("bucket"))
		for i, size := range sizes {
			err = errors.Join(err, b.Put([]byte(strconv.Itoa(i)), make([]byte, size)))
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatalf("Update: got %v, want nil", err)
	}
	return path, usedSize(t, path)
}

// usedSize returns how much of a database file is in use.
func usedSize(t *testing.T, path string) (used int64) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("open: got %v, want nil", err)
	}
	err = errors.Join(db.View(func(tx *bbolt.Tx) error { used = tx.Size(); return nil }), db.Close())
	if err != nil {
		t.Fatalf("View: got %v, want nil", err)
	}
	return used
}

// TestCompactNeverEnlarges: bbolt lengthens a file by 16 MiB at a time.
func TestCompactNeverEnlarges(t *testing.T) {
	t.Parallel()
	sizes := make([]int, 18)
	for i := range sizes {
		sizes[i] = 1 << 20
	}
	path, _ := rawFile(t, sizes...)
	for n := range 2 {
		before, err := os.Stat(path)
		if err != nil {
			t.Fatalf("Stat: got %v, want nil", err)
		}
		got, err := bolt.Compact(t.Context(), path, nil)
		after, serr := os.Stat(path)
		if err != nil || serr != nil {
			t.Fatalf("Compact %d: got %v, %v, want nil", n+1, err, serr)
		}
		if used := usedSize(t, path); got.Before != before.Size() || got.After != after.Size() || got.After > got.Before || got.After != used {
			t.Errorf("Compact %d of %d bytes: got %+v and %d bytes, %d of them in use, want all in use, and no more than before",
				n+1, before.Size(), got, after.Size(), used)
		}
		if n == 1 && !os.SameFile(before, after) {
			t.Error("the second Compact: got a new file, want the old one, for it became no smaller")
		}
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("files after Compact: got %v, %v, want one", files, err)
	}
}

// TestCompactOfDamage has values that reach beyond the file. What copies them must end,
// and leave the file as it was.
func TestCompactOfDamage(t *testing.T) {
	t.Parallel()
	for name, beyond := range map[string]uint32{"a little": 4096, "far": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, used := rawFile(t, 2000)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("ReadFile: got %v, want nil", err)
			}
			content = content[:used]
			// A leaf page has the flag 2 at 8 and the size of its first value at 28.
			changed := false
			for at := 2 * 4096; at < len(content); at += 4096 {
				page := content[at:]
				if binary.NativeEndian.Uint16(page[8:]) == 2 && binary.NativeEndian.Uint32(page[28:]) == 2000 {
					binary.NativeEndian.PutUint32(page[28:], uint32(len(page))+beyond)
					changed = true
				}
			}
			if err := os.WriteFile(path, content, 0o600); err != nil || !changed {
				t.Fatalf("WriteFile: got %v, changed %t, want nil and true", err, changed)
			}
			done := make(chan error, 1)
			go func() {
				_, err := bolt.Compact(context.WithoutCancel(t.Context()), path, nil)
				done <- err
			}()
			select {
			case err := <-done:
				if !errors.Is(err, bolt.ErrDamaged) {
					t.Errorf("Compact: got %v, want %v", err, bolt.ErrDamaged)
				}
			case <-time.After(time.Minute):
				t.Fatal("Compact: got no answer within a minute")
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
				t.Errorf("the file after Compact: got other bytes (%v), want the same", err)
			}
			if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
				t.Errorf("files after Compact: got %v, %v, want one", files, err)
			}
		})
	}
}
