package formats

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// maxLooked is how many records of a file Auto looks at.
const maxLooked = 16

// evidence is what a record says for a format.
type evidence int

const (
	nothing evidence = iota // it is not of this format, or does not show it
	fits                    // it could be; other formats have the like
	proves                  // only this format has what it has
)

// signs says by which signs a format is known. Each looks at one record, or one element of
// a file that is one list, of which the end may be missing.
var signs = []struct {
	format string
	record string // what its records have, for people
	look   func(glimpse) evidence
}{
	{native, `a first line {"sessionstore": "export", …}`, func(g glimpse) evidence {
		return proof(g.string("sessionstore") == "export")
	}},
	{"chatgpt", `"mapping" with nodes`, func(g glimpse) evidence {
		return proof(g.get("mapping").isObject())
	}},
	{"claudeai", `"chat_messages"`, func(g glimpse) evidence {
		return proof(g.get("chat_messages").isArray())
	}},
	{"sharegpt", `"conversations" of "from" and "value"`, func(g glimpse) evidence {
		return proof(g.get("conversations").isArray() || g.get("conversation").isArray())
	}},
	{"python", `"session_id" with a session's or message's fields`, func(g glimpse) evidence {
		return proof(g.has("session_id") && !g.has("message") && (g.isMessage() || g.has("message_id") || g.has("agent_name") || g.has("status") || g.get("messages").isArray()))
	}},
	{"langchain", `"type" and "data" of a message, or a row of its tables`, func(g glimpse) evidence {
		return g.whole(func(g glimpse) evidence {
			kind := strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(g.string("type"), "Chunk"), "Message"))
			_, known := langChainRoles[kind]
			return proof(known && g.get("data").isObject() || g.has("lc") && g.get("kwargs").isObject() ||
				(kind == "human" || kind == "ai") && g.has("content") && !g.isMessage() ||
				g.has("SessionId") && g.has("History") || g.has("session_id") && g.has("message") ||
				strings.HasPrefix(g.string("key"), "message_store:") && g.get("value").isArray())
		})
	}},
	{"vercel", `"role" with "parts", or "toolInvocations"`, func(g glimpse) evidence {
		return g.whole(func(g glimpse) evidence {
			switch {
			case !g.isMessage():
				return nothing
			case g.get("parts").isArray() && g.string("role") != "model" && firstHasType(g.get("parts")), g.get("toolInvocations").isArray(), g.has("createdAt") && g.has("id"):
				return proves
			}
			return maybe(g.string("id") != "" && g.isPlain())
		})
	}},
	{"responses", `items such as "function_call" or "input_text"`, func(g glimpse) evidence {
		if g.string("object") == "response" || g.get("input").isArray() && !g.has("preferred_output") || g.get("output").isArray() {
			return proves
		}
		return g.whole(func(g glimpse) evidence {
			if kind := g.string("type"); !g.isMessage() && (slices.Contains(responseItems, kind) || strings.HasSuffix(kind, "_call") || strings.HasSuffix(kind, "_call_output")) {
				return proves
			}
			if !g.isMessage() {
				return nothing
			}
			for p := range g.get("content").elements() {
				switch p.string("type") {
				case "input_text", "output_text", "input_image", "input_file":
					return proves
				}
			}
			return maybe(g.isPlain())
		})
	}},
	{"anthropic", `messages with blocks such as "tool_use", or a "system" beside "messages"`, func(g glimpse) evidence {
		if g.get("messages").isArray() && !g.has("session_id") && (g.get("system").isArray() || g.string("system") != "") || g.isMessage() && g.has("stop_reason") {
			return proves
		}
		return g.whole(func(g glimpse) evidence {
			for p := range g.get("content").elements() {
				switch p.string("type") {
				case "tool_use", "tool_result", "thinking", "redacted_thinking":
					return proves
				case "image", "document":
					return proof(p.get("source").isObject())
				}
			}
			return maybe(g.isPlain() && (g.string("role") == "user" || g.string("role") == "assistant"))
		})
	}},
	{"openai", `"messages" with a role, or a list of them`, func(g glimpse) evidence {
		if g.has("preferred_output") {
			return proves
		}
		return g.whole(func(g glimpse) evidence {
			switch {
			case !g.isMessage() || g.has("parts"):
				return nothing
			case g.get("tool_calls").isArray(), g.has("tool_call_id"), g.has("function_call"), g.has("weight"):
				return proves
			}
			for p := range g.get("content").elements() {
				switch p.string("type") {
				case "image_url", "input_audio", "file":
					return proves
				}
			}
			return maybe(g.isPlain() && !g.has("id"))
		})
	}},
}

// responseItems are the types of Responses items that do not end in _call or _call_output.
var responseItems = []string{"reasoning", "compaction", "item_reference", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"}

// firstHasType reports whether a list is empty, or its first element has a type.
func firstHasType(list glimpse) bool {
	for p := range list.elements() {
		return p.string("type") != ""
	}
	return true
}

func proof(ok bool) evidence {
	if ok {
		return proves
	}
	return nothing
}

func maybe(ok bool) evidence {
	if ok {
		return fits
	}
	return nothing
}

// detect returns the format of a file that begins with head. If no record proves one,
// messages that are nothing but a role and a text are of openai, because all formats that
// have such mean the same by them. Everything else is ErrInvalid.
func detect(head string) (string, error) {
	looked := 0
	var proven, fitting []string
	for g := range firstRecords(head) {
		looked++
		ours := g.has("session_id") // whatever its messages have
		for _, s := range signs {
			if ours && s.format != "python" && s.format != "langchain" {
				continue
			}
			switch e := s.look(g); {
			case e == nothing:
			case s.format == native:
				if looked == 1 {
					return native, nil
				}
			case e == proves && !slices.Contains(proven, s.format):
				proven = append(proven, s.format)
			case e == fits && !slices.Contains(fitting, s.format):
				fitting = append(fitting, s.format)
			}
		}
		if looked == maxLooked {
			break
		}
	}
	switch {
	case len(proven) == 1:
		return proven[0], nil
	case len(proven) > 1:
		return "", invalid("format", fmt.Sprintf("cannot be told: the file has what %s have; name the one it is", describe(proven)))
	case slices.Contains(fitting, "openai"):
		return "openai", nil
	case len(fitting) > 0:
		return "", invalid("format", fmt.Sprintf("cannot be told: the file could be %s; name the one it is", describe(fitting)))
	}
	return "", invalid("format", fmt.Sprintf("cannot be told: %s; name it, one of %s", seen(head), strings.Join(Names(), ", ")))
}

// describe names formats with what their records have.
func describe(names []string) string {
	var out []string
	for _, s := range signs {
		if slices.Contains(names, s.format) {
			out = append(out, s.format+" ("+s.record+")")
		}
	}
	return strings.Join(out, " and ")
}

// seen says what a head has that no format has.
func seen(head string) string {
	for g := range firstRecords(head) {
		var keys []string
		for key := range g.members() {
			if keys = append(keys, fmt.Sprintf("%q", clip(key))); len(keys) == 8 {
				break
			}
		}
		switch {
		case keys != nil:
			return "its first record has the keys " + strings.Join(keys, ", ")
		case g.isObject():
			return "its first record is an empty object"
		}
		return fmt.Sprintf("it begins with %q, which is no object", clip(string(g)))
	}
	return "it is empty"
}

// cutInString reports whether a line ends within a string, which no value of JSON can: it
// is a record that cannot be read.
func cutInString(line string) bool {
	var s nesting
	_, done, err := s.scan(bytesOf(line))
	return !done && err == nil && s.str
}

// firstRecords yields the records at the beginning of a file: the values that follow each
// other, or the elements of the lists that they are.
func firstRecords(head string) iter.Seq[glimpse] {
	return func(yield func(glimpse) bool) {
		head = strings.TrimPrefix(head, utf8BOM)
		for {
			head = strings.TrimLeft(head, " \t\r\n")
			if head == "" {
				return
			}
			if line, rest, more := strings.Cut(head, "\n"); more && cutInString(line) {
				head = rest
				continue
			}
			g, rest := nextGlimpse(head)
			if !g.isArray() {
				if !yield(g) {
					return
				}
			}
			for e := range g.elements() {
				if inner := e; inner.isArray() { // a list of lists
					for e := range inner.elements() {
						if !yield(e) {
							return
						}
					}
				} else if !yield(e) {
					return
				}
			}
			if rest == head {
				return
			}
			head = rest
		}
	}
}
