//go:build !race

package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/memory"
)

// residentLimit is what an import may have in memory at any time, the program's own pages
// and the mapped ones of the database included.
const residentLimit = 64 << 20

// TestImportMemory imports large records with the built command.
func TestImportMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command and imports 500 MB; run it without -short")
	}
	exe := filepath.Join(t.TempDir(), "sessionctl")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			t.Skipf("put go into the PATH to run this: %v", err)
		}
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, shape := range []struct {
		name                    string
		records, messages, size int
		formats                 []string
	}{
		{"two messages of 7.7 MB", 3, 2, 7_700_000, []string{"native", "openai", "python", "sharegpt", "agent"}},
		{"five messages of 3.1 MB", 3, 5, 3_100_000, []string{"native", "openai"}},
		{"fifteen messages of 1 MB", 2, 15, 1_000_000, []string{"python"}},
		{"20,000 messages", 1, 20_000, 760, []string{"openai", "python"}},
		{"records of 9 kB", 2000, 3, 3000, []string{"sharegpt"}},
		{"two conversations of 15 MB", 2, 15, 1_000_000, []string{"chatgpt"}},
		{"two conversations of 15 MB", 2, 2, 7_500_000, []string{"chatgpt"}},
		{"a zip archive", 40, 1500, 1000, []string{"zip"}},
	} {
		for _, format := range shape.formats {
			t.Run(shape.name+"/"+format, func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), exe, "import", "--format", importFormat(format),
					"--store", "bolt:"+filepath.Join(t.TempDir(), "s.db"), "-")
				r, w := io.Pipe()
				go func() { w.CloseWithError(writeLarge(t, w, format, shape.records, shape.messages, shape.size)) }()
				defer r.Close()
				cmd.Stdin = r
				most, got := resident(t, cmd)
				if want := fmt.Sprintf("imported %d sessions, %d messages, 0 skipped\n", shape.records, shape.records*shape.messages); got != want {
					t.Fatalf("import printed %q, want %q", got, want)
				}
				t.Logf("%.1f MiB", float64(most)/(1<<20))
				if most > residentLimit {
					t.Errorf("%d bytes were resident, want at most %d", most, residentLimit)
				}
			})
		}
	}
}

// importFormat returns the format of what writeLarge writes.
func importFormat(format string) string {
	switch format {
	case "agent":
		return "python"
	case "zip":
		return "auto" // found out from the first file of the archive
	}
	return format
}

// resident runs cmd and returns the most memory that it had resident, and what it printed.
func resident(t *testing.T, cmd *exec.Cmd) (most int, out string) {
	t.Helper()
	var printed, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	// The kernel keeps the peak, but only as long as the process lives.
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%q: %v\n%s", cmd.Args, err, complaints.String())
			}
			return most, printed.String()
		case <-look.C:
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // gone, when it has ended
			_, rest, _ := strings.Cut(string(status), "VmHWM:")
			kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if n, err := strconv.Atoi(kb); err == nil {
				most = max(most, n<<10)
			}
		}
	}
}

// writeLarge writes so many records with so many messages of so many bytes each.
func writeLarge(t *testing.T, w io.Writer, format string, records, messages, size int) error {
	out := bufio.NewWriterSize(w, 64<<10)
	line := strings.Repeat("word ", size/5+1)[:size-20]
	text := func(record, message int) string { return fmt.Sprintf("%d.%d %s", record, message, line) }
	switch format {
	case "native":
		return exportLarge(t, w, records, messages, text)
	case "zip":
		z := zip.NewWriter(out)
		for half := range 2 {
			f, err := z.Create(fmt.Sprintf("conversations-%03d.json", half))
			if err != nil {
				return err
			}
			writeChatGPT(f, half*records/2, (half+1)*records/2, messages, text)
		}
		if err := z.Close(); err != nil {
			return err
		}
		return out.Flush()
	case "chatgpt":
		writeChatGPT(out, 0, records, messages, text)
		return out.Flush()
	}
	for i := range records {
		if format == "python" {
			fmt.Fprintf(out, `{"session_id":"s%d"}`+"\n", i)
			for j := range messages {
				fmt.Fprintf(out, `{"session_id":"s%d","message_id":"m%d","role":"user","content":"%s"}`+"\n", i, j, text(i, j))
			}
			continue
		}
		head, entry := `{"messages":[`, `{"role":"user","content":"%s"}`
		switch format {
		case "agent":
			head = fmt.Sprintf(`{"session_id":"s%d","messages":[`, i)
		case "sharegpt":
			head, entry = `{"conversations":[`, `{"from":"human","value":"%s"}`
		}
		for j := range messages {
			fmt.Fprintf(out, head+entry, text(i, j))
			head = ","
		}
		fmt.Fprint(out, "]}\n")
	}
	return out.Flush()
}

// writeChatGPT writes conversations of ChatGPT, each message after the one before it, to
// what keeps its first error.
func writeChatGPT(w io.Writer, from, to, messages int, text func(record, message int) string) {
	head := "["
	for i := from; i < to; i++ {
		fmt.Fprintf(w, `%s{"title":"a","conversation_id":"c%d","current_node":"m%d","mapping":{`, head, i, messages-1)
		for j := range messages {
			if j > 0 {
				fmt.Fprintf(w, `,"m%d":{"parent":"m%d",`, j, j-1)
			} else {
				fmt.Fprint(w, `"m0":{`)
			}
			fmt.Fprintf(w, `"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["%s"]}}}`, text(i, j))
		}
		fmt.Fprint(w, "}}")
		head = ",\n"
	}
	fmt.Fprint(w, "]")
}

func exportLarge(t *testing.T, w io.Writer, records, messages int, text func(record, message int) string) error {
	store, err := memory.New(nil)
	if err != nil {
		return err
	}
	defer store.Close()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range records {
		s := sessionstore.Session{ID: fmt.Sprintf("s%d", i), CreatedAt: at, UpdatedAt: at, Version: 1, LastSeq: int64(messages), MessageCount: int64(messages)}
		_, err := sessionstore.RestoreSession(t.Context(), store, s, func(yield func(sessionstore.Message, error) bool) {
			for j := range messages {
				m := sessionstore.UserMessage(text(i, j))
				m.ID, m.Seq, m.CreatedAt = fmt.Sprintf("m%d", j), int64(j)+1, at
				if !yield(m, nil) {
					return
				}
			}
		})
		if err != nil {
			return err
		}
	}
	_, err = sessionstore.Export(t.Context(), store, w, nil)
	return err
}
