package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
	_ "github.com/sessionstore/sessionstore/memory"
)

func open(t *testing.T, path string, o *bolt.OpenOptions) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("Open(%s): got %v, want nil", path, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	})
	return s
}

// filled makes a file with one session "s" of the given messages.
func filled(t *testing.T, texts ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sessions.db")
	s := open(t, path, nil)
	create(t, s, sessionstore.Session{ID: "s", UserID: "u"})
	if len(texts) > 0 {
		appendTexts(t, s, "s", texts...)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("Close: got %v, want nil", err)
	}
	return path
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := bolt.New(nil, nil); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("New(nil): got %v, want ErrInvalid", err)
	}
	_, err := bolt.New(openDB(t, nil), &bolt.Options{Namespace: "a\nb"})
	var inv *sessionstore.InvalidError
	if !errors.As(err, &inv) || inv.Field != "namespace" {
		t.Errorf("New with a bad namespace: got %v, want an InvalidError of namespace", err)
	}
	path := filepath.Join(t.TempDir(), "x.db")
	for _, o := range []*bolt.OpenOptions{{Mode: "rx"}, {Options: bolt.Options{Namespace: "a\nb"}}} {
		if _, err := bolt.Open(t.Context(), path, o); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("Open(%+v): got %v, want ErrInvalid", o, err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a refused Open: got %v, want no file", err)
	}
	if _, err := bolt.Open(t.Context(), "", nil); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("Open without a path: got %v, want ErrInvalid", err)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	for _, mode := range []bolt.Mode{bolt.ReadWrite, bolt.ReadOnly} {
		if _, err := bolt.Open(t.Context(), path, &bolt.OpenOptions{Mode: mode}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%s) of nothing: got %v, want %v", mode, err, fs.ErrNotExist)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after Open(%s): got %v, want no file", mode, err)
		}
	}
	if _, err := bolt.Open(t.Context(), filepath.Join(path, "x"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open in a missing directory: got %v, want %v", err, fs.ErrNotExist)
	}

	s := open(t, path, nil)
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("a new file: got %v, %v, want mode 0600", info.Mode(), err)
	}
	_ = s.Close()
	ro := open(t, path, &bolt.OpenOptions{Mode: bolt.ReadOnly})
	if got := everything(t, ro); got != "" {
		t.Errorf("a file that was never written to: got %q, want nothing", got)
	}
	if _, err := ro.GetSession(t.Context(), "s"); !errors.Is(err, sessionstore.ErrSessionNotFound) {
		t.Errorf("get: got %v, want ErrSessionNotFound", err)
	}
	_ = ro.Close()
	create(t, open(t, path, &bolt.OpenOptions{Mode: bolt.ReadWrite}), sessionstore.Session{ID: "s"})
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	path := filled(t, "one")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("ReadFile: got %v, want nil", err)
	}
	a := open(t, path, &bolt.OpenOptions{Mode: bolt.ReadOnly})
	b := open(t, path, &bolt.OpenOptions{Mode: bolt.ReadOnly}) // they share it
	for _, s := range []*bolt.Store{a, b} {
		if got := texts(t, s, "s"); got != "one" {
			t.Errorf("history: got %q, want one", got)
		}
		if _, err := s.AppendMessages(t.Context(), "s", say("two")); !errors.Is(err, bolterrors.ErrDatabaseReadOnly) {
			t.Errorf("append: got %v, want %v", err, bolterrors.ErrDatabaseReadOnly)
		}
		_, err := s.CreateSession(t.Context(), sessionstore.Session{})
		if want := "bolt: create: " + bolterrors.ErrDatabaseReadOnly.Error(); err == nil || err.Error() != want {
			t.Errorf("create without an id: got %v, want %s", err, want)
		}
		if _, err := s.PurgeExpired(t.Context(), 0); !errors.Is(err, bolterrors.ErrDatabaseReadOnly) {
			t.Errorf("purge: got %v, want %v", err, bolterrors.ErrDatabaseReadOnly)
		}
	}
	var copied strings.Builder
	if n, err := a.Backup(t.Context(), &copied); err != nil || n == 0 || int(n) != copied.Len() {
		t.Errorf("Backup: got %d, %v, want %d, nil", n, err, copied.Len())
	}
	if _, err := bolt.Open(t.Context(), path, &bolt.OpenOptions{Timeout: -1}); !errors.Is(err, sessionstore.ErrLocked) {
		t.Errorf("Open for writing: got %v, want ErrLocked", err)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the file: got other bytes (%v), want the same", err)
	}
}

// TestLocked is field report S35: opening a file that another has blocks for ever.
func TestLocked(t *testing.T) {
	t.Parallel()
	path := filled(t)
	s := open(t, path, nil)
	_, err := bolt.Open(t.Context(), path, &bolt.OpenOptions{Timeout: 30 * time.Millisecond})
	if !errors.Is(err, sessionstore.ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second Open: got %v, want ErrLocked with the path", err)
	}
	if who := fmt.Sprintf("process %d (", os.Getpid()); runtime.GOOS == "linux" && !strings.Contains(fmt.Sprint(err), who) {
		t.Errorf("a second Open: got %v, want it to name %q", err, who)
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := bolt.Open(ctx, path, &bolt.OpenOptions{Timeout: time.Hour})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Open whose context ended: got %v, want %v", err, context.Canceled)
	}

	waits := make(chan error, 1)
	go func() {
		s, err := bolt.Open(t.Context(), path, &bolt.OpenOptions{Timeout: time.Hour})
		if err == nil {
			err = s.Close()
		}
		waits <- err
	}()
	if err := s.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
	if err := <-waits; err != nil {
		t.Errorf("Open that waited for the lock: got %v, want nil", err)
	}
}

func TestNoDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, err := os.ReadFile(filled(t, strings.Repeat("x", 200_000)))
	if err != nil {
		t.Fatalf("ReadFile: got %v, want nil", err)
	}
	for name, content := range map[string][]byte{
		"short text":    []byte("not a database\n"),
		"long text":     []byte(strings.Repeat("not a database\n", 10_000)),
		"only a header": good[:100],
		"half a page":   good[:2048],
		"two pages":     good[:8192],
		"three pages":   good[:3*4096],
		"cut":           good[:100_000], // of what is in use; the file has room behind it
		"zero metas":    append(make([]byte, 8192), good[8192:]...),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatalf("WriteFile: got %v, want nil", err)
		}
		for _, mode := range []bolt.Mode{bolt.ReadWriteCreate, bolt.ReadWrite, bolt.ReadOnly} {
			s, err := bolt.Open(t.Context(), path, &bolt.OpenOptions{Mode: mode, Timeout: -1})
			if err == nil {
				t.Errorf("Open(%s, %s): got nil, want an error", name, mode)
				_ = s.Close()
			} else if !strings.Contains(err.Error(), path) || errors.Is(err, sessionstore.ErrLocked) {
				t.Errorf("Open(%s, %s): got %v, want an error that names the path", name, mode, err)
			} else if strings.Contains(err.Error(), "runtime error") {
				t.Errorf("Open(%s, %s): got %v, want it in words", name, mode, err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(content) {
			t.Errorf("%s: got %d other bytes (%v), want the file as it was", name, len(after), err)
		}
	}

	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatalf("WriteFile: got %v, want nil", err)
	}
	for _, mode := range []bolt.Mode{bolt.ReadWrite, bolt.ReadOnly} {
		if _, err := bolt.Open(t.Context(), empty, &bolt.OpenOptions{Mode: mode}); !errors.Is(err, bolterrors.ErrInvalid) {
			t.Errorf("Open(%s) of an empty file: got %v, want %v", mode, err, bolterrors.ErrInvalid)
		}
	}
	if _, err := bolt.Open(t.Context(), dir, nil); !errors.Is(err, bolterrors.ErrInvalid) {
		t.Errorf("Open of a directory: got %v, want %v", err, bolterrors.ErrInvalid)
	}
}

// TestDamagedPages overwrites one page after the other: no call may panic, or hang.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	path := filled(t)
	s := open(t, path, nil)
	for i := range 20 {
		create(t, s, sessionstore.Session{ID: fmt.Sprint("s", i)})
		appendTexts(t, s, fmt.Sprint("s", i), strings.Repeat("x", 3000), "y", strings.Repeat("z", 3000))
	}
	if err := s.Close(); err != nil {
		t.Fatalf("Close: got %v, want nil", err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("ReadFile: got %v, want nil", err)
	}
	failures := 0
	for at := 2 * 4096; at < len(good); at += 4096 {
		bad := append([]byte(nil), good...)
		for i := range 4096 {
			bad[at+i] = 0xa5
		}
		path := filepath.Join(t.TempDir(), "bad.db")
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatalf("WriteFile: got %v, want nil", err)
		}
		inWords := func(err error) {
			if strings.Contains(err.Error(), "runtime error") {
				t.Errorf("page %d is bad: got %v, want it in words", at/4096, err)
			}
		}
		s, err := bolt.Open(t.Context(), path, nil)
		if err != nil {
			failures++
			inWords(err)
			continue
		}
		for i := range 20 {
			if _, err := s.ListMessages(t.Context(), fmt.Sprint("s", i), sessionstore.MessageQuery{}); err != nil {
				failures++
				inWords(err)
				if errors.Is(err, bolt.ErrDamaged) && !strings.Contains(err.Error(), path) && strings.Contains(err.Error(), "page") {
					t.Errorf("list messages: got %v, want the path", err)
				}
			}
		}
		if _, err := s.ListSessions(t.Context(), sessionstore.SessionQuery{}); err != nil {
			failures++
		}
		_ = s.Close()
	}
	if failures == 0 {
		t.Error("got no error from any damaged page, want some")
	}
}

// TestCutWhileOpen has the file lose its end under the memory map.
func TestCutWhileOpen(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut on Windows: run this on another system")
	}
	path := filled(t, "one", strings.Repeat("x", 200_000))
	s := open(t, path, nil)
	if err := os.Truncate(path, 4*4096); err != nil {
		t.Fatalf("Truncate: got %v, want nil", err)
	}
	_, err := s.ListMessages(t.Context(), "s", sessionstore.MessageQuery{})
	if !errors.Is(err, bolt.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("list messages: got %v, want %v with the path", err, bolt.ErrDamaged)
	}
	if fault := (runtime.Error)(nil); !errors.As(err, &fault) || strings.Contains(fmt.Sprint(err), "runtime error") {
		t.Errorf("list messages: got %v, want it in words, and the fault within reach", err)
	}
	if err := s.DeleteSession(t.Context(), "s"); !errors.Is(err, bolt.ErrDamaged) {
		t.Errorf("delete: got %v, want %v", err, bolt.ErrDamaged)
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"bolt:sessions.db":                        "sessions.db|||0s",
		"BOLT:a/b.db?namespace=n%20m&mode=ro":     "a/b.db|n m|ro|0s",
		"bolt:/abs/a.db?timeout=250ms":            "/abs/a.db|||250ms",
		"bolt:///abs/a%3Fb%25c%23.db?timeout=0s":  "/abs/a?b%c#.db|||-1ns",
		"bolt:with space#and hash.db?migrate=off": "with space#and hash.db|||0s",
		"bolt:":                   "path",
		"bolt:?namespace=n":       "path",
		"bolt://host/a.db":        "path",
		"bolt:a%zz.db":            "path",
		"bolt:a.db?timeout=soon":  "timeout",
		"bolt:a.db?timeout=-1s":   "timeout",
		"bolt:a.db?mode=":         "mode",
		"bolt:a.db?migrate=yes":   "migrate",
		"bolt:a.db?nosync=1":      "url",
		"bolt:a.db?namespace=%zz": "url",
	} {
		path, o, err := bolt.ParseURL(raw)
		if inv := (*sessionstore.InvalidError)(nil); errors.As(err, &inv) {
			if inv.Field != want {
				t.Errorf("%s: got %v, want an error of %s", raw, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: got %v, want %s", raw, err, want)
			continue
		}
		if got := fmt.Sprintf("%s|%s|%s|%s", path, o.Namespace, o.Mode, o.Timeout); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
	if _, err := sessionstore.Open(t.Context(), "bolt:a.db?x=y"); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("sessionstore.Open with an unknown option: got %v, want ErrInvalid", err)
	}
	s, err := sessionstore.Open(t.Context(), "bolt:"+filled(t, "one")+"?mode=rw")
	if err != nil {
		t.Fatalf("sessionstore.Open: got %v, want nil", err)
	}
	if got := texts(t, s, "s"); got != "one" {
		t.Errorf("history: got %q, want one", got)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
}

// TestURLOfMemory: what is wrong with the query of one backend's URL is wrong with the
// other's.
func TestURLOfMemory(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                          "",
		"namespace=a&timeout=1s":    "",
		"timeout=0s&migrate=off":    "",
		"timeout=soon":              "timeout",
		"timeout=-1s":               "timeout",
		"timeout=":                  "timeout",
		"timeout=1s&timeout=soon":   "timeout",
		"migrate=on":                "migrate",
		"migrate=":                  "migrate",
		"namespace=a&namespace=%01": "namespace",
		"namespace=%01&namespace=a": "",
		"nope=1":                    "url",
	} {
		for _, base := range []string{"memory:", "bolt:" + filepath.ToSlash(filepath.Join(t.TempDir(), "s.db"))} {
			got := ""
			s, err := sessionstore.Open(t.Context(), base+"?"+query)
			if inv := (*sessionstore.InvalidError)(nil); errors.As(err, &inv) {
				got = inv.Field
			} else if err != nil {
				got = err.Error()
			} else if err := s.Close(); err != nil {
				t.Errorf("Close: got %v, want nil", err)
			}
			if got != want {
				t.Errorf("%s?%s: got an error of %q (%v), want %q", base, query, got, err, want)
			}
		}
	}
}

func TestBackup(t *testing.T) {
	t.Parallel()
	path := filled(t, "one")
	s := open(t, path, nil)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // writes go on meanwhile
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := s.AppendMessages(t.Context(), "s", say(fmt.Sprint("more", n))); err != nil {
				t.Errorf("append during a backup: got %v, want nil", err)
				return
			}
		}
	}()
	copied := filepath.Join(t.TempDir(), "copy.db")
	f, err := os.Create(copied)
	if err != nil {
		t.Fatalf("Create: got %v, want nil", err)
	}
	n, err := s.Backup(t.Context(), usesStore{f, s, t.Context()})
	close(stop)
	<-stopped
	info, serr := f.Stat()
	if err != nil || serr != nil || info.Size() != n {
		t.Errorf("Backup: got %d, %v, want %d, nil", n, err, info.Size())
	}
	if err := f.Close(); err != nil {
		t.Fatalf("close: got %v, want nil", err)
	}
	there := open(t, copied, &bolt.OpenOptions{Mode: bolt.ReadOnly})
	if got := texts(t, there, "s"); !strings.HasPrefix(got, "one") {
		t.Errorf("history of the copy: got %q, want it to begin with one", got)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	hidden, herr := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || herr != nil || len(left)+len(hidden) != 1 {
		t.Errorf("files after a backup: got %q %q, want only the database", left, hidden)
	}

	errDisk := errors.New("disk full")
	if _, err := s.Backup(t.Context(), writerFunc(func([]byte) (int, error) { return 0, errDisk })); !errors.Is(err, errDisk) {
		t.Errorf("Backup to a full disk: got %v, want %v", err, errDisk)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = s.Backup(ctx, writerFunc(func(p []byte) (int, error) { cancel(); return len(p) / 2, iotest.ErrTimeout }))
	if err == nil {
		t.Error("Backup whose context ended: got nil, want an error")
	}
	if _, err := s.Backup(ctx, f); !errors.Is(err, context.Canceled) {
		t.Errorf("Backup with a context that is done: got %v, want %v", err, context.Canceled)
	}
	_ = s.Close()
	if _, err := s.Backup(t.Context(), f); !errors.Is(err, sessionstore.ErrStoreClosed) {
		t.Errorf("Backup of a closed store: got %v, want ErrStoreClosed", err)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// usesStore writes to the store whenever it is written to.
type usesStore struct {
	f   *os.File
	s   *bolt.Store
	ctx context.Context
}

func (u usesStore) Write(p []byte) (int, error) {
	if _, err := u.s.CreateSession(u.ctx, sessionstore.Session{}); err != nil {
		return 0, err
	}
	return u.f.Write(p)
}
