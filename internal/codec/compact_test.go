package codec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/internal/codec"
)

const levels = 100

func TestCompact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`null`, `null`},
		{" \t\r\n true \n", `true`},
		{`{ }`, `{}`},
		{`[ ]`, `[]`},
		{`[ 1 , 2 ]`, `[1,2]`},
		{`{ "a" : 1 , "b" : [ { } ] }`, `{"a":1,"b":[{}]}`},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{`{"b":1, "a":2}`, `{"b":1,"a":2}`},
		{`[1.0, 1e2, 1E+02, -0, 100000000000000000000000000000]`, `[1.0,1e2,1E+02,-0,100000000000000000000000000000]`},
		{`" a\u0041\/\"\\ b "`, `" a\u0041\/\"\\ b "`},
		{`[ "\\" , " " ]`, `["\\"," "]`},
		{`[ "a\"b c" , "d e" ]`, `["a\"b c","d e"]`},
		{`"\ud83d\ude42"`, `"\ud83d\ude42"`},
		{`"\uD83D\uDE42 \uFFFD"`, `"\uD83D\uDE42 \uFFFD"`},
		{"\"\u2028\U0001F642<>&\"", "\"\u2028\U0001F642<>&\""},
	} {
		got, err := codec.Compact([]byte("x"), []byte(tt.in), levels)
		if err != nil || string(got) != "x"+tt.want {
			t.Errorf("Compact(%s) = %s, %v; want x%s", tt.in, got, err, tt.want)
		}
	}
}

func TestCompactErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{``, "unexpected end at byte 0"},
		{`  `, "unexpected end at byte 2"},
		{`1 2`, "unexpected data after the value at byte 2"},
		{`{"a":1}}`, "unexpected data after the value at byte 7"},
		{`nul`, "unexpected character at byte 0"},
		{`truE`, "unexpected character at byte 0"},
		{`'a'`, "unexpected character at byte 0"},
		{`[1,]`, "unexpected character at byte 3"},
		{`[,1]`, "unexpected character at byte 1"},
		{`[1 2]`, "unexpected character at byte 3"},
		{`[1`, "unexpected end at byte 2"},
		{`[1,`, "unexpected end at byte 3"},
		{`[1}`, "unexpected character at byte 2"},
		{`{"a":1]`, "unexpected character at byte 6"},
		{`{1:2}`, "missing key at byte 1"},
		{`{`, "missing key at byte 1"},
		{`{"a"}`, "missing colon at byte 4"},
		{`{"a"`, "missing colon at byte 4"},
		{`{"a":}`, "unexpected character at byte 5"},
		{`{"a":1,}`, "missing key at byte 7"},
		{`01`, "invalid number at byte 0"},
		{`-`, "invalid number at byte 0"},
		{`1.`, "invalid number at byte 0"},
		{`1e`, "invalid number at byte 0"},
		{`1e+`, "invalid number at byte 0"},
		{`+1`, "unexpected character at byte 0"},
		{`.5`, "unexpected character at byte 0"},
		{`"abc`, "unterminated string at byte 4"},
		{`"abc\`, "unterminated string at byte 5"},
		{"\"a\nb\"", "control character in a string at byte 2"},
		{"\"0123456789\x1f\"", "control character in a string at byte 11"},
		{`"\x"`, "invalid escape at byte 1"},
		{`"\u12g4"`, "invalid escape at byte 1"},
		{`"\u123`, "invalid escape at byte 1"},
		{"\"\xff\"", "invalid UTF-8 in the string at byte 1"},
		{"\"0123456789\xc3\"", "invalid UTF-8 in the string at byte 1"},
		{"\"\xed\xa0\xbd\xed\xb9\x82\"", "invalid UTF-8 in the string at byte 1"},
		{"{\"\xff\":1}", "invalid UTF-8 in the string at byte 2"},
		{`"\ud83d"`, "unpaired surrogate escape at byte 1"},
		{`"\ude42"`, "unpaired surrogate escape at byte 1"},
		{`"\ud83d\ud83d"`, "unpaired surrogate escape at byte 1"},
		{`"\ud83d\n"`, "unpaired surrogate escape at byte 1"},
		{`"\ud83dude42"`, "unpaired surrogate escape at byte 1"},
		{`"\ud83d\u00"`, "unpaired surrogate escape at byte 1"},
		{`"\ude42\ud83d"`, "unpaired surrogate escape at byte 1"},
		{`{"\ud83d":1}`, "unpaired surrogate escape at byte 2"},
	} {
		got, err := codec.Compact(nil, []byte(tt.in), levels)
		if err == nil || err.Error() != tt.want {
			t.Errorf("Compact(%q) = %q, %v; want the error %q", tt.in, got, err, tt.want)
		}
	}
}

func TestCompactLevels(t *testing.T) {
	t.Parallel()
	for _, open := range []string{"[", `{"a":`} {
		closing := map[string]string{"[": "]", `{"a":`: "}"}[open]
		for _, n := range []int{levels, levels + 1, 1_000_000} {
			in := strings.Repeat(open, n) + "1" + strings.Repeat(closing, n)
			_, err := codec.Compact(nil, []byte(in), levels)
			if (err == nil) != (n <= levels) {
				t.Errorf("Compact of %d times %s: %v", n, open, err)
			}
		}
	}
}

// The reasons for which Compact may refuse what encoding/json accepts.
var stricter = []string{"nested too deeply", "invalid UTF-8 in the string", "unpaired surrogate escape"}

func FuzzCompact(f *testing.F) {
	for _, s := range []string{
		`{ "a" : [ 1 , 2.50 , "x\u0041\ud83d\ude42" , null , true , false ] }`,
		`"\ud83d"`, "\"\xff\"", `[[[[]]]]`, `{"a":1,"a":2}`, ` 1e400 `, `{"a\"":"\\"}`, `-0.0e-0`, "\"\x7f\u2028\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		got, err := codec.Compact(nil, in, levels)
		if !bytes.Equal(in, before) {
			t.Fatalf("Compact changed its input to %q", in)
		}
		var want bytes.Buffer
		jsonErr := json.Compact(&want, in)
		switch {
		case err == nil && jsonErr != nil:
			t.Fatalf("Compact accepts %q, encoding/json says %v", in, jsonErr)
		case err == nil && !bytes.Equal(got, want.Bytes()):
			t.Fatalf("Compact(%q) = %q, want %q", in, got, want.Bytes())
		case err != nil && jsonErr == nil:
			var e *codec.Error
			if !errors.As(err, &e) {
				t.Fatalf("Compact(%q): %v, want an *Error", in, err)
			}
			for _, reason := range stricter {
				if e.Reason == reason {
					return
				}
			}
			t.Fatalf("Compact refuses %q, which is valid: %v", in, err)
		}
	})
}
