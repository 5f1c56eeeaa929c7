package codec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sessionstore/sessionstore/internal/codec"
)

func TestAppendString(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"", `""`},
		{"plain", `"plain"`},
		{`a"b\c`, `"a\"b\\c"`},
		{"\b\f\n\r\t", `"\b\f\n\r\t"`},
		{"\x00\x01\x1f\x7f", "\"\\u0000\\u0001\\u001f\x7f\""},
		{"<a href='x'>&</a>/", `"<a href='x'>&</a>/"`},
		{"\u2028\u2029\ufffd\U0001F642", "\"\u2028\u2029\ufffd\U0001F642\""},
		{"0123456\"89012345\n", `"0123456\"89012345\n"`},
	} {
		got, valid := codec.AppendString([]byte("x"), tt.in)
		if string(got) != "x"+tt.want || !valid {
			t.Errorf("AppendString(%q) = %s, %t; want x%s, true", tt.in, got, valid, tt.want)
		}
	}
}

func TestAppendStringInvalid(t *testing.T) {
	t.Parallel()
	// Every place within and beyond the eight bytes that are looked at together.
	for before := range 20 {
		for after := range 20 {
			in := strings.Repeat("a", before) + "\xf0\x9f\x99" + strings.Repeat("b", after)
			got, valid := codec.AppendString(nil, in)
			if valid || string(got) != `"`+in+`"` {
				t.Errorf("AppendString(%q) = %q, %t; want it as it is, and false", in, got, valid)
			}
		}
	}
}

func TestStringEveryPlace(t *testing.T) {
	t.Parallel()
	for c := range 0x80 {
		for before := range 20 {
			in := strings.Repeat("é", before/2) + strings.Repeat("a", before%2) + string(rune(c)) + "tail of it"
			text, valid := codec.AppendString(nil, in)
			if !valid || !json.Valid(text) {
				t.Fatalf("AppendString(%q) = %s, %t", in, text, valid)
			}
			if got := readString(t, text); got != in {
				t.Fatalf("read %q from %s, want %q", got, text, in)
			}
		}
	}
}

func readString(t *testing.T, text []byte) string {
	t.Helper()
	r := codec.NewBytesReader(text)
	s, err := r.String()
	if err == nil {
		err = r.End()
	}
	if err != nil {
		t.Fatalf("read the string %q: %v", text, err)
	}
	return s
}

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "a\"b", "\xff", "\u2028 \U0001F642 \x00", strings.Repeat("é\n", 400)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		text, valid := codec.AppendString(nil, in)
		if valid != utf8.ValidString(in) {
			t.Fatalf("AppendString(%q) reports valid %t", in, valid)
		}
		if !valid {
			return
		}
		if got := readString(t, text); got != in {
			t.Fatalf("read %q from %s, want %q", got, text, in)
		}
		var std string
		if err := json.Unmarshal(text, &std); err != nil || std != in {
			t.Fatalf("encoding/json reads %q from %s, %v; want %q", std, text, err, in)
		}
		escaped, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := readString(t, escaped); got != in {
			t.Fatalf("read %q from %s, want %q", got, escaped, in)
		}
	})
}
