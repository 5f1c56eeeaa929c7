package sessionstore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sessionstore/sessionstore"
)

func seed(f *testing.F, file string) {
	b, err := os.ReadFile(filepath.Join("testdata", "python", file))
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		f.Add(bytes.TrimSpace(line))
	}
}

// What is read is written, read again as the same value, and written again as the same
// bytes; what is refused is ErrInvalid.
func FuzzDecodeMessage(f *testing.F) {
	seed(f, "messages.jsonl")
	for _, s := range []string{
		`{"message_id":"m","x":{"a" : [1.0,1]},"x":2,"\u0078":3,"metadata":{"a":1e400,"b":-0.0,"":[[]]}}`,
		`{"tool_calls":[{"id":"1","type":"custom","custom":{"name":"n","input":"i","k":{}},"function":null}]}`,
		`{"tool_calls":[{"function":{"k":1,"arguments":{"a" : 1},"\u006b":2},"name":"x","arguments":[],"type":null}]}`,
		`{"tool_calls":[{"type":"web","x":1},{"type":"web","function":{}},{"type":"web","name":null,"input":3,"custom":{}}]}`,
		`{"content":[{ "type" : "text" , "text" : null }],"created_at":"0001-01-01"}`,
		`{"created_at":"2026-03-01 09:30:00,1234567-03:30:52.5","seq":-9223372036854775808}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		buf := bytes.Clone(in)
		m, err := sessionstore.DecodeMessage(buf)
		if !bytes.Equal(buf, in) {
			t.Fatalf("the input %q became %q", in, buf)
		}
		clear(buf) // m must not be a part of it
		if err != nil {
			if !errors.Is(err, sessionstore.ErrInvalid) {
				t.Fatalf("DecodeMessage(%q): %v, want ErrInvalid", in, err)
			}
			return
		}
		out, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatalf("AppendJSON of %q: %v", in, err)
		}
		if n := sessionstore.SizeBound(m); n < len(out) {
			t.Fatalf("size bound %d of %d bytes %s", n, len(out), out)
		}
		again, err := sessionstore.DecodeMessage(out)
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("%q is written %s and read as\n%#v, %v; want\n%#v", in, out, again, err, m)
		}
		if !reflect.DeepEqual(m.Clone(), m) {
			t.Fatalf("Clone of %s differs", out)
		}
		out2, err := again.AppendJSON(nil)
		if err != nil || !bytes.Equal(out2, out) {
			t.Fatalf("written %s, then %s, %v", out, out2, err)
		}
		_ = m.Content.String()
	})
}

func FuzzDecodeSession(f *testing.F) {
	seed(f, "sessions.jsonl")
	f.Add([]byte(`{"ttl_seconds":1.5e-7,"status":null,"metadata":null,"version":3,"future":{ "a":[ ] }}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := sessionstore.DecodeSession(in)
		if err != nil {
			if !errors.Is(err, sessionstore.ErrInvalid) {
				t.Fatalf("DecodeSession(%q): %v, want ErrInvalid", in, err)
			}
			return
		}
		out, err := s.AppendJSON(nil)
		if err != nil {
			t.Fatalf("AppendJSON of %q: %v", in, err)
		}
		again, err := sessionstore.DecodeSession(out)
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%q is written %s and read as\n%#v, %v; want\n%#v", in, out, again, err, s)
		}
	})
}
