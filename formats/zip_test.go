package formats_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

// zipped returns an archive of files, each a name and its content.
func zipped(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func oneChatGPT(id string) string {
	return chatGPT(id, `"a"`, chatGPTNode("a", "null", chatGPTSays("user", id, 1)))
}

// Field report I01: an export is a zip archive with one or with many files of
// conversations, and both are imported, from a file as from a stream.
func TestZip(t *testing.T) {
	t.Parallel()
	archive := zipped(t,
		"chat.html", "<html>",
		"export/conversations-001.json", "["+oneChatGPT("c2")+","+oneChatGPT("c3")+"]",
		"export/conversations-000.json", "["+oneChatGPT("c1")+"]",
		"shared_conversations.json", `[{"id":"not one"}]`,
		"conversations.txt", "no",
		"user.json", `{}`)
	name := filepath.Join(t.TempDir(), "export.zip")
	if err := os.WriteFile(name, append([]byte("before"), archive...), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(int64(len("before")), io.SeekStart); err != nil {
		t.Fatal(err)
	}
	for how, r := range map[string]io.Reader{
		"in place": bytes.NewReader(archive),
		"a file":   f,
		"a stream": io.MultiReader(bytes.NewReader(archive)),
	} {
		for _, format := range []string{"chatgpt", formats.Auto} {
			store, found := newStore(t), ""
			var read int64
			dir := t.TempDir()
			if s, ok := r.(io.Seeker); ok && format == formats.Auto {
				start := int64(0)
				if how == "a file" {
					start = int64(len("before"))
				}
				if _, err := s.Seek(start, io.SeekStart); err != nil {
					t.Fatal(err)
				}
			} else if !ok {
				r = io.MultiReader(bytes.NewReader(archive))
			}
			rep, err := formats.Import(t.Context(), store, format, r, &formats.Options{
				TempDir: dir, OnFormat: func(f string) { found = f }, OnProgress: func(n int64) { read = n },
			})
			if want := (formats.Report{Sessions: 3, Messages: 3}); err != nil || rep != want {
				t.Errorf("%s as %s: %+v, %v, want %+v", how, format, rep, err, want)
			}
			if found != "" != (format == formats.Auto) || found != "" && found != "chatgpt" {
				t.Errorf("%s as %s: found %q", how, format, found)
			}
			if read == 0 || read > int64(len(archive))+4096 {
				t.Errorf("%s as %s: progress of %d bytes for an archive of %d", how, format, read, len(archive))
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s as %s left %v, %v in the temporary directory", how, format, left, err)
			}
		}
	}
}

func TestZipOfClaudeAI(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	archive := zipped(t, "users.json", "[]", "conversations.json", testdata(t, "claudeai.json"))
	var found string
	rep, err := formats.Import(t.Context(), store, formats.Auto, bytes.NewReader(archive), &formats.Options{OnFormat: func(f string) { found = f }})
	if err != nil || found != "claudeai" || rep.Sessions != 2 {
		t.Errorf("%+v, %v as %q, want two sessions of claudeai", rep, err, found)
	}
}

// What is broken in one file of an archive is reported with its name, and does not keep the
// others out.
func TestZipWithBrokenFiles(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	archive := zipped(t,
		"conversations-000.json", "["+oneChatGPT("c1")+",\n{\"mapping\":7}]",
		"conversations-001.json", "["+oneChatGPT("c2")+",",
		"conversations-002.json", "["+oneChatGPT("c3")+"]")
	var bad []string
	rep, err := formats.Import(t.Context(), store, "chatgpt", bytes.NewReader(archive), &formats.Options{
		OnError: func(e formats.RecordError) { bad = append(bad, e.Error()) },
	})
	var syntax *formats.SyntaxError
	if !errors.As(err, &syntax) || !strings.Contains(err.Error(), "conversations-001.json: line 1") {
		t.Errorf("error %v, want a *SyntaxError with the file's name", err)
	}
	if rep.Sessions != 3 || len(bad) != 1 || !strings.HasPrefix(bad[0], "conversations-000.json: line 2 (record 1): ") {
		t.Errorf("%+v, reported %q; want three sessions and a record", rep, bad)
	}
}

func TestZipRefuses(t *testing.T) {
	t.Parallel()
	good := zipped(t, "conversations.json", "["+oneChatGPT("c1")+"]")
	damaged := bytes.Clone(good)
	damaged[60] ^= 0xff // in what is packed
	for _, tc := range []struct {
		name    string
		archive []byte
		want    error
		says    string
	}{
		{"no conversations", zipped(t, "a.json", "{}"), sessionstore.ErrInvalid, "without a conversations*.json"},
		{"empty", zipped(t), sessionstore.ErrInvalid, "without a conversations*.json"},
		{"cut off", good[:len(good)/2], sessionstore.ErrInvalid, "cannot be unpacked"},
		{"damaged", damaged, sessionstore.ErrInvalid, ""},
		{"an archive in it", zipped(t, "conversations.json", string(good)), sessionstore.ErrInvalid, ""},
		{"a huge directory", wide(t), sessionstore.ErrTooLarge, "directory of the zip archive"},
		{"a huge file", bomb(t, 17<<30), sessionstore.ErrTooLarge, "bytes of conversations in the zip archive"},
		{"a file that is larger than it says", bomb(t, 10), sessionstore.ErrInvalid, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			var bad error
			rep, err := formats.Import(t.Context(), store, "chatgpt", bytes.NewReader(tc.archive), &formats.Options{OnError: func(e formats.RecordError) { bad = e }})
			if err == nil {
				err = bad
			}
			if !errors.Is(err, tc.want) && !isSyntax(err) || !strings.Contains(fmt.Sprint(err), tc.says) || rep.Sessions != 0 {
				t.Errorf("%+v, %v; want %v with %q", rep, err, tc.want, tc.says)
			}
		})
	}
	if _, err := formats.Import(t.Context(), newStore(t), "native", bytes.NewReader(good), nil); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("import as native: %v, want ErrInvalid", err)
	}
}

func isSyntax(err error) bool {
	_, ok := errors.AsType[*formats.SyntaxError](err)
	return ok
}

// wide is an archive with a directory of more than 16 MiB.
func wide(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	name := strings.Repeat("x", 60_000)
	for i := range 300 {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(name, i), Method: zip.Store}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bomb is an archive with a file of 1 MiB of spaces that says to have another size.
func bomb(t *testing.T, size uint64) []byte {
	t.Helper()
	var packed bytes.Buffer
	content := bytes.Repeat([]byte(" "), 1<<20)
	raw := zipped(t, "x", string(content))
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := z.File[0].OpenRaw()
	if err == nil {
		_, err = io.Copy(&packed, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	w, err := out.CreateRaw(&zip.FileHeader{Name: "conversations.json", Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(content),
		CompressedSize64: uint64(packed.Len()), UncompressedSize64: size})
	if err == nil {
		_, err = w.Write(packed.Bytes())
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A failing file is not taken for a broken archive.
func TestZipOfFailingReader(t *testing.T) {
	t.Parallel()
	archive := zipped(t, "conversations.json", "["+oneChatGPT("c1")+"]")
	broken := errors.New("disk gone")
	for _, r := range []io.Reader{
		io.MultiReader(bytes.NewReader(archive[:30]), failing{broken}),
		failingAt{bytes.NewReader(archive), broken},
	} {
		if _, err := formats.Import(t.Context(), newStore(t), "chatgpt", r, nil); !errors.Is(err, broken) {
			t.Errorf("error %v, want %v", err, broken)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type failingAt struct {
	*bytes.Reader
	err error
}

func (f failingAt) ReadAt([]byte, int64) (int, error) { return 0, f.err }
