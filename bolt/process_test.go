package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
)

// childVar holds the path of the database that a child process is to write to until it
// is killed.
const childVar = "BOLT_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVar); path != "" {
		child(path)
		return
	}
	os.Exit(m.Run())
}

// child appends with eight writers and prints the id of each message once it is
// acknowledged.
func child(path string) {
	ctx := context.Background()
	s, err := bolt.Open(ctx, path, nil)
	if err != nil {
		panic(err)
	}
	if _, err := s.CreateSession(ctx, sessionstore.Session{ID: "s"}); err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("w%d-%d", w, n)
				if _, err := s.AppendMessages(ctx, "s", say(id)); err != nil {
					panic(err)
				}
				fmt.Fprintln(os.Stdout, id)
			}
		})
	}
	wg.Wait()
}

// TestKilledWriter kills a process while it writes: its lock names it before, and what
// it had acknowledged is there after. See field report S41.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatalf("Executable: got %v, want nil", err)
	}
	path := filepath.Join(t.TempDir(), "sessions.db")
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childVar+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("StdoutPipe: got %v, want nil", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("Start: got %v, want nil", err)
	}
	var acked []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		acked = append(acked, lines.Text())
		if len(acked) == 200 {
			_, err := bolt.Open(t.Context(), path, &bolt.OpenOptions{Timeout: -1})
			want := fmt.Sprintf("process %d (%s)", cmd.Process.Pid, exe)
			if !errors.Is(err, sessionstore.ErrLocked) || runtime.GOOS == "linux" && !strings.Contains(err.Error(), want) {
				t.Errorf("Open while another process has it: got %v, want ErrLocked by %s", err, want)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatalf("Kill: got %v, want nil", err)
			}
		}
	}
	_ = cmd.Wait()
	if len(acked) < 200 {
		t.Fatalf("the child ended after %d appends, want to kill it after 200", len(acked))
	}
	// The last line may be cut.
	if last := acked[len(acked)-1]; !strings.Contains(last, "-") {
		acked = acked[:len(acked)-1]
	}

	s := open(t, path, &bolt.OpenOptions{Mode: bolt.ReadWrite, Timeout: time.Minute})
	there := map[string]bool{}
	var q sessionstore.MessageQuery
	for {
		page, err := s.ListMessages(t.Context(), "s", q)
		if err != nil {
			t.Fatalf("ListMessages: got %v, want nil", err)
		}
		for _, m := range page.Messages {
			if m.Seq != int64(len(there))+1 {
				t.Fatalf("got Seq %d, want %d", m.Seq, len(there)+1)
			}
			there[m.ID] = true
		}
		if !page.HasMore {
			break
		}
		q.AfterSeq = int64(len(there))
	}
	for _, id := range acked {
		if !there[id] {
			t.Errorf("message %s: got nothing, want it, because it was acknowledged", id)
		}
	}
	if got, most := len(there), len(acked)+8+1; got > most {
		t.Errorf("messages: got %d, want at most %d: one in flight for each writer", got, most)
	}
}
