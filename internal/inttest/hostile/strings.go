package hostile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Texts are strings that were made to be more than strings, and those at the ends of what
// is allowed.
var Texts = []string{
	// SQL
	"' OR '1'='1", "'; DROP TABLE sessions; --", `\'; --`, "$1", "$$; DROP SCHEMA public CASCADE; $$", "@last_seq", ":id", "?", "%", "_",
	"1; SELECT pg_sleep(9)", "/*", "*/", "--", "E'\\x27'", `"; "`, "NULL", "0", "-1", "1e9", "true",
	// MongoDB
	"$where", `{"$gt":""}`, "$ne", "a.b", "a..b", ".", "$", "_id", "$set", "$$ROOT", "__proto__", `{"$oid":"507f1f77bcf86cd799439011"}`, "a.$[].b",
	// Redis and its scripts
	"x\r\nDEL y\r\n", "*1\r\n$8\r\nFLUSHALL\r\n", "{tag}", "{}", "}{", "{", "}", "*", "[a-z]", `\*`, "a\nb", "ok", "(1", "+inf", "[", "]", "-",
	`"]] redis.call('FLUSHALL') --`, "]]", "%d%s", "%1", "^.*$", "\x01\x02",
	// files, paths and URLs
	"../../etc/passwd", "..", "/", "//", `C:\`, `\\host\share`, "%2e%2e%2f", "%00", "file:///etc/passwd", "~", "a@b:c/d?e#f", "http://[::1]:80/?a=b&c=d#e", "CON",
	// templates, markup and logs
	"${jndi:ldap://x/a}", "{{7*7}}", "<script>alert(1)</script>", "&amp;", "<!--", "`id`", "$(id)", "%n%n%n", "\x1b[2J", "a\tb", "line\u2028line",
	// JSON within strings
	`"`, `\`, `\\`, `\u0000`, `\ud800`, `{"a":`, "null", "[]", `","session_id":"x`,
	// the edges of Unicode
	"\x00", "a\x00b", "\uFFFF", "\uFFFE", "\uFDD0", "\uFFFD", "\uFEFF", "\u200b", "\u202e" + "abc", "\u05d0\u05d1 \u0645\u0631", "\U0001F600", "\U0010FFFF", "\U000E0001",
	"e\u0301", "\u00e9", "\u0130", "i\u0307", "\u212a", "\u0085", "\u009f", "\x7f", "\u00ad", "\u00a0", " ", "  ", "a ", " a", "A", "a", "\U0001F469\u200d\U0001F467",
	// what is no UTF-8
	"\xff", "a\xc0\xaf", "\xed\xa0\x80", "\xed\xa0\xbd\xed\xb8\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "ok\xf0\x9f\x98",
	// lengths
	"", strings.Repeat("x", 254), strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("\u20ac", 85), strings.Repeat("\u20ac", 85) + "x",
	strings.Repeat("\u00e9", 128), strings.Repeat("n", 4096), strings.Repeat("n", 4097), strings.Repeat("\U0001F600", 1024), strings.Repeat("'", 5000), strings.Repeat("../", 2000),
}

// A Rule says which strings a field takes.
type Rule func(s string) bool

// ID is the rule of session and message ids, namespaces and the like.
func ID(s string) bool { return s != "" && Name(s) }

// Name is that of user and agent names.
func Name(s string) bool { return len(s) <= 255 && plain(s) }

// LongName is that of Message.Name, ToolCallID and what names a tool call.
func LongName(s string) bool { return len(s) <= 4096 && plain(s) }

// Text is that of everything else.
func Text(s string) bool { return utf8.ValidString(s) }

// Only is the rule of a few words.
func Only(words ...string) Rule {
	return func(s string) bool {
		for _, w := range words {
			if s == w {
				return true
			}
		}
		return false
	}
}

func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
