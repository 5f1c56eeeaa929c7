package formats_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/formats"
)

// read returns the records of a file in short: "line/index text", with ! for the text of
// a bad one.
func read(r io.Reader, whole func(string) bool) (got []string, err error) {
	err = formats.ReadRecords(r, whole, func(rec formats.Record) bool {
		text := rec.Text
		if rec.Err != nil {
			text = "!"
		}
		got = append(got, fmt.Sprintf("%d/%d %s", rec.Line, rec.Index, text))
		return true
	})
	return got, err
}

func TestRecords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file string
		want       []string
		broken     string // part of the *SyntaxError, "" for none
	}{
		{"empty", "", nil, ""},
		{"only space", " \n\r\n\t", nil, ""},
		{"only a byte order mark", "\ufeff", nil, ""},
		{"lines", "{}\n{\"a\":1}\n", []string{"1/0 {}", `2/1 {"a":1}`}, ""},
		{"no final newline", "{}\n{}", []string{"1/0 {}", "2/1 {}"}, ""},
		{"CRLF", "{}\r\n{}\r\n", []string{"1/0 {}", "2/1 {}"}, ""},
		{"blank lines", "\n\n{}\n \n\r\n{}\n\n", []string{"3/0 {}", "6/1 {}"}, ""},
		{"byte order mark", "\ufeff{}\n{}", []string{"1/0 {}", "2/1 {}"}, ""},
		{"byte order mark within", "{}\n\ufeff{}\n", []string{"1/0 {}", "2/1 {}"}, ""},
		{"bad line between", "{}\n{\"a\":\n{}\n", []string{"1/0 {}", "2/1 !", "3/2 {}"}, ""},
		{"bad first line: not closed", "{\"a\":[1,\n{}\n", []string{"1/0 !", "2/1 {}"}, ""},
		{"bad first line: within a string", "{\"a\":\"b\n{}\n", []string{"1/0 !", "2/1 {}"}, ""},
		{"bad first line, then a blank one", "{\"a\":1\n\n{}\n", []string{"1/0 !", "3/1 {}"}, ""},
		{"bad first line: closed twice", "{}}\n{}\n", []string{"1/0 !", "2/1 {}"}, ""},
		{"bad first line: no JSON", "hello there\n{}\n", []string{"1/0 !", "2/1 {}"}, ""},
		{"bad only line", `{"a":`, []string{"1/0 !"}, ""},
		{"two values a line", "{} {}\n{}\n", []string{"1/0 !", "2/1 {}"}, ""},
		{"scalars", "1\n\"x\"\nnull\n", []string{"1/0 1", `2/1 "x"`, "3/2 null"}, ""},
		{"invalid UTF-8", "{}\n{\"a\":\"\xff\"}\n{}\n", []string{"1/0 {}", "2/1 !", "3/2 {}"}, ""},
		{"half a surrogate pair", "{}\n{\"a\":\"\\ud83d\"}\n{\"a\":\"\\ud83d\\ude42\"}\n", []string{"1/0 {}", "2/1 !", `3/2 {"a":"\ud83d\ude42"}`}, ""},
		{"too deep", "{}\n" + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n{}", []string{"1/0 {}", "2/1 !", "3/2 {}"}, ""},

		{"one printed object", "{\n  \"a\": [\n    {}\n  ]\n}\n", []string{"1/0 {\n  \"a\": [\n    {}\n  ]\n}"}, ""},
		{"printed without indent", "{\n\"a\": [\n{}\n]\n}", []string{"1/0 {\n\"a\": [\n{}\n]\n}"}, ""},
		{"printed with a blank line", "{\n\n  \"a\": 1}", []string{"1/0 {\n\n  \"a\": 1}"}, ""},
		{"printed objects", "{\n \"a\":1\n}\n{\n \"b\":2\n}\n", []string{"1/0 {\n \"a\":1\n}", "4/1 {\n \"b\":2\n}"}, ""},
		{"printed object, bad inside", "{\n \"a\":x\n}\n{\n}", []string{"1/0 !", "4/1 {\n}"}, ""},
		{"printed object cut", "{\n \"a\":1\n", nil, "not closed"},
		{"printed object, then text", "{\n \"a\":1\n}\nx", []string{"1/0 {\n \"a\":1\n}"}, `line 4 (byte 11, record 1): unexpected 'x'`},

		{"array", "[{},{}]", []string{"1/0 {}", "1/1 {}"}, ""},
		{"array over lines", "[\n {\"a\":\n1},\r\n {}\n]\n", []string{"2/0 {\"a\":\n1}", "4/1 {}"}, ""},
		{"empty array", " [ ] ", nil, ""},
		{"array of arrays", "[[1],[2]]", []string{"1/0 [1]", "1/1 [2]"}, ""},
		{"array of scalars", "[1, \"]\" ,null]", []string{"1/0 1", `1/1 "]"`, "1/2 null"}, ""},
		{"array, bad element", "[{},\n{\"a\" 1},\n{}]", []string{"1/0 {}", "2/1 !", "3/2 {}"}, ""},
		{"array, element too deep", "[{}," + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + ",{}]", []string{"1/0 {}", "1/1 !", "1/2 {}"}, ""},
		{"array, escaped quotes", `[{"a":"\"]\\"},{}]`, []string{`1/0 {"a":"\"]\\"}`, "1/1 {}"}, ""},
		{"array with a byte order mark", "\ufeff[{}]", []string{"1/0 {}"}, ""},
		{"array cut after an element", "[{},\n{}", []string{"1/0 {}", "2/1 {}"}, "line 2 (byte 7, record 2): the file ends"},
		{"array cut in an element", "[{},\n{\"a\":", []string{"1/0 {}"}, "the value that begins at line 2 is not closed"},
		{"array cut in a number", "[12", []string{"1/0 12"}, "the file ends"},
		{"array without comma", "[{} {}]", []string{"1/0 {}"}, "a comma was expected"},
		{"array, comma at the end", "[{},]", []string{"1/0 {}"}, "a value was expected"},
		{"array, two commas", "[{},,{}]", []string{"1/0 {}"}, "a value was expected"},
		{"array, wrong bracket", "[{},\n{\"a\":[}\n]", []string{"1/0 {}"}, "line 2 "},
		{"array, then text", "[{}] x", []string{"1/0 {}"}, "after the array"},
		{"array, then lines", "[1]\n[2]\n[3\n[4]", []string{"1/0 1", "2/1 [2]", "3/2 !", "4/3 [4]"}, ""},
	} {
		for _, reader := range []struct {
			name string
			wrap func(io.Reader) io.Reader
		}{
			{"whole", func(r io.Reader) io.Reader { return r }},
			{"byte by byte", iotest.OneByteReader},
		} {
			t.Run(tc.name+"/"+reader.name, func(t *testing.T) {
				t.Parallel()
				got, err := read(reader.wrap(strings.NewReader(tc.file)), nil)
				if !slices.Equal(got, tc.want) {
					t.Errorf("records of %q\n got %q\nwant %q", tc.file, got, tc.want)
				}
				var syntax *formats.SyntaxError
				switch {
				case tc.broken == "" && err != nil:
					t.Errorf("error %v, want none", err)
				case tc.broken != "" && (!errors.As(err, &syntax) || !strings.Contains(err.Error(), tc.broken)):
					t.Errorf("error %v, want a *SyntaxError with %q", err, tc.broken)
				}
			})
		}
	}
}

func TestWholeArray(t *testing.T) {
	t.Parallel()
	message := `{"role":"user","content":"a]"}`
	for _, tc := range []struct {
		file string
		want []string
	}{
		{"[" + message + ",\n" + message + "]", []string{"1/0 [" + message + " ,\n" + message + "]"}},
		{"[" + message + "]\n[" + message + "]\n", []string{"1/0 [" + message + " ]", "2/1 [" + message + "]"}},
		{"[[" + message + "]]", []string{"1/0 [" + message + "]"}},
		{`[{"messages":[]}]`, []string{`1/0 {"messages":[]}`}},
	} {
		got, err := read(strings.NewReader(tc.file), formats.IsChatMessage)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("records of %q = %q, %v, want %q", tc.file, got, err, tc.want)
		}
	}
}

func TestLargeRecords(t *testing.T) {
	t.Parallel()
	text := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	fits, over := text(formats.MaxRecordBytes), text(formats.MaxRecordBytes+1)
	for _, tc := range []struct{ name, file string }{
		{"lines", "{}\n" + fits + "\r\n" + over + "\n{}"},
		{"first line too large", over + "\n{}\n" + fits + "\n"},
		{"array", "[{}, " + fits + ",\n" + over + ",{}]"},
		{"printed objects", "{\n\"a\":1}\n" + fits + "\n" + over + "\n{}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var good, bad int
			err := formats.ReadRecords(strings.NewReader(tc.file), nil, func(rec formats.Record) bool {
				if rec.Err == nil {
					good++
					return true
				}
				bad++
				if !errors.Is(rec.Err, sessionstore.ErrTooLarge) {
					t.Errorf("line %d: %v, want ErrTooLarge", rec.Line, rec.Err)
				}
				return true
			})
			wantGood := strings.Count(tc.file, "{") - 1
			if err != nil || good != wantGood || bad != 1 {
				t.Errorf("%d good and %d bad records, %v, want %d, 1, nil", good, bad, err, wantGood)
			}
		})
	}
}

func TestReaderFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	for _, start := range []string{"", "{}\n", "{}\n{", "{\n \"a\":", "[", "[{}", "[{},", "[1]", "[1]\n"} {
		_, err := read(io.MultiReader(strings.NewReader(start), iotest.ErrReader(broken)), nil)
		if !errors.Is(err, broken) {
			t.Errorf("after %q: error %v, want the reader's", start, err)
		}
	}
}

// A record of very many values is refused before it is taken apart.
func TestRecordOfManyValues(t *testing.T) {
	t.Parallel()
	text := func(n int) string { // n values, of which one has what looks like more
		return `{"messages":[{"role":"user","content":"hi, [{ \"\\"}],"x":[` + strings.Repeat("1,", n-7) + "1]}"
	}
	for n, want := range map[int]int64{formats.MaxRecordValues: 0, formats.MaxRecordValues + 1: 1} {
		rep, bad, err := importText(t, newStore(t), "openai", text(n)+"\n"+`{"messages":[{"role":"user","content":"hi"}]}`)
		if err != nil || rep.Failed != want || want == 1 && !errors.Is(bad[0].Err, sessionstore.ErrTooLarge) {
			t.Errorf("a record of %d values: %+v, %v, bad %v, want %d refused as too large", n, rep, err, bad, want)
		}
	}
}
