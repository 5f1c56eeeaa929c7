package codec_test

import (
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/internal/codec"
)

func TestReader(t *testing.T) {
	t.Parallel()
	text := []byte(` { "n" : [ 1 , -2.50 ] , "\u0073" : "a\n\ud83d\ude42" , "b" : true , "f" : false ,
		"z" : null , "raw" : { "k" : [ ] } , "exact" : { "k" : [ ] } , "skip" : [ { } ] , "o" : { } , "e" : [ ] } `)
	r := codec.NewBytesReader(text)
	if err := r.Object(); err != nil {
		t.Fatal(err)
	}
	var got []string
	note := func(s string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	for {
		key, ok, err := r.Key()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		note(key+"="+string(r.AppendKey(nil)), nil)
		switch key {
		case "n", "e":
			note("[", r.Array())
			for {
				more, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				if !more {
					break
				}
				note(r.Number())
			}
		case "s":
			note(r.String())
		case "b", "f":
			b, err := r.Bool()
			note(map[bool]string{true: "yes", false: "no"}[b], err)
		case "z":
			note(map[bool]string{true: "null", false: "not null"}[r.Null()], nil)
		case "raw":
			note(r.Raw(2))
		case "exact":
			note(r.Exact(2))
		case "skip":
			at := r.Offset()
			note("skipped", r.Skip(2))
			end := r.Offset()
			r.Seek(at)
			note(r.Raw(2))
			r.Seek(end)
		case "o":
			note("{", r.Object())
			if key, ok, err := r.Key(); ok || err != nil {
				t.Errorf("key %q, %t, %v in an empty object", key, ok, err)
			}
		}
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	clear(text) // nothing that was returned may be a part of the text
	want := `n="n" [ 1 -2.50 s="\u0073" a` + "\n\U0001F642" + ` b="b" yes f="f" no z="z" null raw="raw" {"k":[]} ` +
		`exact="exact" { "k" : [ ] } skip="skip" skipped [{}] o="o" { e="e" [`
	if s := strings.Join(got, " "); s != want {
		t.Errorf("read\n%s\nwant\n%s", s, want)
	}
}

func TestReaderErrors(t *testing.T) {
	t.Parallel()
	str := func(r *codec.Reader) error { _, err := r.String(); return err }
	number := func(r *codec.Reader) error { _, err := r.Number(); return err }
	boolean := func(r *codec.Reader) error { _, err := r.Bool(); return err }
	raw := func(r *codec.Reader) error { _, err := r.Raw(1); return err }
	exact := func(r *codec.Reader) error { _, err := r.Exact(1); return err }
	skip := func(r *codec.Reader) error { return r.Skip(1) }
	key := func(r *codec.Reader) error {
		if err := r.Object(); err != nil {
			return err
		}
		for {
			_, ok, err := r.Key()
			if !ok || err != nil {
				return err
			}
			if err := r.Skip(0); err != nil {
				return err
			}
		}
	}
	array := func(r *codec.Reader) error {
		if err := r.Array(); err != nil {
			return err
		}
		for {
			more, err := r.Next()
			if !more || err != nil {
				return err
			}
			if err := r.Skip(0); err != nil {
				return err
			}
		}
	}
	end := func(r *codec.Reader) error { return r.End() }
	null := func(r *codec.Reader) error {
		if r.Null() {
			return nil
		}
		return skip(r)
	}
	for _, tt := range []struct {
		in   string
		read func(*codec.Reader) error
		want string
	}{
		{` 1`, str, "want a string, got a number at byte 1"},
		{`-1`, str, "want a string, got a number at byte 0"},
		{`[]`, str, "want a string, got an array at byte 0"},
		{`{}`, str, "want a string, got an object at byte 0"},
		{`true`, str, "want a string, got true or false at byte 0"},
		{`null`, str, "want a string, got null at byte 0"},
		{``, str, "want a string, got the end at byte 0"},
		{`?`, str, "want a string, got an unexpected character at byte 0"},
		{"\x00", str, "want a string, got an unexpected character at byte 0"},
		{`"a`, str, "unterminated string at byte 2"},
		{`"1"`, number, "want a number, got a string at byte 0"},
		{`01`, number, "invalid number at byte 0"},
		{`1`, boolean, "want true or false, got a number at byte 0"},
		{`tru`, boolean, "unexpected character at byte 0"},
		{`fals`, boolean, "unexpected character at byte 0"},
		{`nul`, null, "unexpected character at byte 0"},
		{`[[]]`, raw, "nested too deeply at byte 1"},
		{`[[]]`, exact, "nested too deeply at byte 1"},
		{`[[]]`, skip, "nested too deeply at byte 1"},
		{`[]`, key, "want an object, got an array at byte 0"},
		{`{"a":1 "b":2}`, key, "unexpected character at byte 7"},
		{`{"a":1,}`, key, "missing key at byte 7"},
		{`{"a" 1}`, key, "missing colon at byte 5"},
		{`{"\x":1}`, key, "invalid escape at byte 2"},
		{`{"a":1`, key, "unexpected character at byte 6"},
		{`{,"a":1}`, key, "missing key at byte 1"},
		{`{}`, array, "want an array, got an object at byte 0"},
		{`[1 2]`, array, "unexpected character at byte 3"},
		{`[1,]`, array, "unexpected character at byte 3"},
		{`[,]`, array, "unexpected character at byte 1"},
		{`[`, array, "unexpected end at byte 1"},
		{` x`, end, "unexpected data after the value at byte 1"},
		{"\x00", end, "unexpected data after the value at byte 0"},
	} {
		r := codec.NewReader(tt.in)
		if err := tt.read(&r); err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v, want %q", tt.in, err, tt.want)
		}
	}
}

// Strings of all lengths, so that they lie in chunks, across their ends, and alone.
func TestReaderKeepsCopies(t *testing.T) {
	t.Parallel()
	var want []string
	text := []byte{'['}
	for n := 0; n < 1500; n += 7 {
		s := strings.Repeat("x", n)
		if n%2 == 1 {
			s += "\n" // read by way of an escape
		}
		want = append(want, s)
		text, _ = codec.AppendString(text, s)
		text = append(text, ',')
	}
	text[len(text)-1] = ']'
	r := codec.NewBytesReader(text)
	if err := r.Array(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		more, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		s, err := r.String()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	clear(text)
	if len(got) != len(want) {
		t.Fatalf("read %d strings, want %d", len(got), len(want))
	}
	for i, s := range got {
		if s != want[i] {
			t.Errorf("string %d is %q, want %q", i, s, want[i])
		}
	}
}
