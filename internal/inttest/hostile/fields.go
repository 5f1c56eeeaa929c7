package hostile

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/sessionstore/sessionstore"
)

// Canary is the session that no call with a hostile argument may touch; calls that need a
// session of which all else is right are made on it.
const Canary = "canary"

// A Field is a string that a caller gives.
type Field struct {
	Name string
	Rule Rule
	// Call gives the store s, and all else as it should be. It is only made with what the
	// rule forbids.
	Call func(ctx context.Context, store sessionstore.SessionStore, s string) error
}

type (
	store   = sessionstore.SessionStore
	session = sessionstore.Session
	message = sessionstore.Message
	toolUse = sessionstore.ToolCall
	update  = sessionstore.SessionUpdate
	data    = sessionstore.Metadata
	extra   = map[string]json.RawMessage
)

func creates(change func(s string) session) func(context.Context, store, string) error {
	return func(ctx context.Context, st store, s string) error {
		_, err := st.CreateSession(ctx, change(s))
		return err
	}
}

func updates(change func(s string) update) func(context.Context, store, string) error {
	return func(ctx context.Context, st store, s string) error {
		_, err := st.UpdateSession(ctx, Canary, change(s))
		return err
	}
}

func appends(change func(s string) message) func(context.Context, store, string) error {
	return func(ctx context.Context, st store, s string) error {
		m := change(s)
		if m.Role == "" {
			m.Role = sessionstore.RoleAssistant
		}
		// A good message before it must not be kept either.
		_, err := st.AppendMessages(ctx, Canary, sessionstore.Append{Messages: []message{sessionstore.UserMessage("good"), m}})
		return err
	}
}

func calls(change func(s string) toolUse) func(context.Context, store, string) error {
	return appends(func(s string) message { return message{ToolCalls: []toolUse{change(s)}} })
}

func lists(change func(s string) sessionstore.SessionQuery) func(context.Context, store, string) error {
	return func(ctx context.Context, st store, s string) error {
		_, err := st.ListSessions(ctx, change(s))
		return err
	}
}

func restores(change func(s string) (session, message)) func(context.Context, store, string) error {
	return func(ctx context.Context, st store, s string) error {
		of, m := change(s)
		of.CreatedAt, of.UpdatedAt, of.Version, of.LastSeq, of.MessageCount = epoch, epoch, 1, 1, 1
		m.Seq, m.CreatedAt = 1, epoch
		if m.Role == "" {
			m.Role = sessionstore.RoleUser
		}
		_, err := sessionstore.RestoreSession(ctx, st, of, one(m))
		return err
	}
}

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func one(m message) iter.Seq2[message, error] {
	return func(yield func(message, error) bool) { yield(m, nil) }
}

// quoted is s as a JSON string with its bytes as they are, right or wrong.
func quoted(s string) json.RawMessage {
	b := []byte{'"'}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// Fields are all strings that callers give to a store.
var Fields = []Field{
	{"create id", func(s string) bool { return Name(s) }, creates(func(s string) session { return session{ID: s} })}, // empty: one is made
	{"create user", Name, creates(func(s string) session { return session{UserID: s} })},
	{"create agent", Name, creates(func(s string) session { return session{AgentName: s} })},
	{"create parent", Name, creates(func(s string) session { return session{ParentID: s} })},
	{"create status", Only("", "active", "paused", "closed"), creates(func(s string) session { return session{Status: sessionstore.Status(s)} })},
	{"create system", Text, creates(func(s string) session { return session{System: s} })},
	{"create metadata key", Text, creates(func(s string) session { return session{Metadata: data{s: 1}} })},
	{"create metadata value", Text, creates(func(s string) session { return session{Metadata: data{"k": s}} })},
	{"create nested key", Text, creates(func(s string) session { return session{Metadata: data{"k": []any{map[string]any{s: 1}}}} })},
	{"create nested value", Text, creates(func(s string) session { return session{Metadata: data{"k": []string{s}}} })},
	{"create struct in metadata", Text, creates(func(s string) session { return session{Metadata: data{"k": struct{ V string }{s}}} })},
	{"create unknown key", Text, creates(func(s string) session { return session{Extra: extra{s: quoted("v")}} })},
	{"create unknown value", Text, creates(func(s string) session { return session{Extra: extra{"x": quoted(s)}} })},

	{"get id", ID, func(ctx context.Context, st store, s string) error { _, err := st.GetSession(ctx, s); return err }},
	{"delete id", ID, func(ctx context.Context, st store, s string) error { return st.DeleteSession(ctx, s) }},
	{"update id", ID, func(ctx context.Context, st store, s string) error {
		_, err := st.UpdateSession(ctx, s, update{Touch: true})
		return err
	}},
	{"truncate id", ID, func(ctx context.Context, st store, s string) error {
		_, err := st.TruncateMessages(ctx, s, sessionstore.Truncate{})
		return err
	}},
	{"read id", ID, func(ctx context.Context, st store, s string) error {
		_, err := st.ListMessages(ctx, s, sessionstore.MessageQuery{})
		return err
	}},
	{"append id", ID, func(ctx context.Context, st store, s string) error {
		_, err := st.AppendMessages(ctx, s, sessionstore.Append{Messages: []message{sessionstore.UserMessage("x")}})
		return err
	}},
	{"append to no messages", ID, func(ctx context.Context, st store, s string) error {
		_, err := st.AppendMessages(ctx, s, sessionstore.Append{})
		return err
	}},
	{"view user", ID, func(ctx context.Context, st store, s string) error {
		view := sessionstore.ForUser(st, s)
		_, err := view.CreateSession(ctx, session{})
		if err != nil {
			_, err = view.GetSession(ctx, Canary)
		}
		return err
	}},

	{"update agent", Name, updates(func(s string) update { return update{AgentName: &s} })},
	{"update system", Text, updates(func(s string) update { return update{System: &s} })},
	{"update status", Only("active", "paused", "closed"), updates(func(s string) update { st := sessionstore.Status(s); return update{Status: &st} })},
	{"update metadata key", Text, updates(func(s string) update { return update{SetMetadata: data{s: 1}} })},
	{"update metadata value", Text, updates(func(s string) update { return update{SetMetadata: data{"k": map[string]any{"n": s}}} })},
	{"update deleted key", Text, updates(func(s string) update { return update{DeleteMetadata: []string{s}, Touch: true} })},

	{"list user", Name, lists(func(s string) sessionstore.SessionQuery { return sessionstore.SessionQuery{UserID: s} })},
	{"list agent", Name, lists(func(s string) sessionstore.SessionQuery { return sessionstore.SessionQuery{AgentName: s} })},
	{"list parent", Name, lists(func(s string) sessionstore.SessionQuery { return sessionstore.SessionQuery{ParentID: s} })},
	{"list cursor", Only(""), lists(func(s string) sessionstore.SessionQuery { return sessionstore.SessionQuery{Cursor: s} })},
	{"list status", Only("active", "paused", "closed"), lists(func(s string) sessionstore.SessionQuery {
		return sessionstore.SessionQuery{Statuses: []sessionstore.Status{sessionstore.Status(s)}}
	})},

	{"message id", Name, appends(func(s string) message { return message{ID: s} })}, // empty: one is made
	{"message session", Only("", Canary), appends(func(s string) message { return message{SessionID: s} })},
	{"message role", Only("", "system", "developer", "user", "assistant", "tool"), appends(func(s string) message { return message{Role: sessionstore.Role(s)} })},
	{"message name", LongName, appends(func(s string) message { return message{Name: s} })},
	{"message agent", Name, appends(func(s string) message { return message{AgentName: s} })},
	{"message tool call id", LongName, appends(func(s string) message { return message{ToolCallID: s} })},
	{"message text", Text, appends(func(s string) message { return message{Content: sessionstore.Text(s)} })},
	{"message part", Text, appends(func(s string) message { return message{Content: sessionstore.Parts(sessionstore.TextPart(s))} })},
	{"message image", Text, appends(func(s string) message { return message{Content: sessionstore.Parts(sessionstore.ImagePart(s))} })},
	{"message metadata key", Text, appends(func(s string) message { return message{Metadata: data{s: nil}} })},
	{"message metadata value", Text, appends(func(s string) message { return message{Metadata: data{"k": []any{s}}} })},
	{"message unknown key", Text, appends(func(s string) message { return message{Extra: extra{s: quoted("v")}} })},
	{"message unknown value", Text, appends(func(s string) message { return message{Extra: extra{"x": quoted(s)}} })},
	{"call id", LongName, calls(func(s string) toolUse { return toolUse{ID: s} })},
	{"call type", LongName, calls(func(s string) toolUse { return toolUse{Type: s} })},
	{"call name", LongName, calls(func(s string) toolUse { return toolUse{Name: s} })},
	{"call arguments", Text, calls(func(s string) toolUse { return toolUse{Arguments: s} })},
	{"call unknown key", Text, calls(func(s string) toolUse { return toolUse{Extra: extra{s: quoted("v")}} })},
	{"call unknown value", Text, calls(func(s string) toolUse { return toolUse{Extra: extra{"x": quoted(s)}} })},

	{"fork id", ID, func(ctx context.Context, st store, s string) error {
		_, err := sessionstore.ForkSession(ctx, st, s, sessionstore.Fork{})
		return err
	}},
	{"fork child", Name, func(ctx context.Context, st store, s string) error { // empty: one is made
		_, err := sessionstore.ForkSession(ctx, st, Canary, sessionstore.Fork{ID: s})
		return err
	}},
	{"fork user", Name, func(ctx context.Context, st store, s string) error {
		_, err := sessionstore.ForkSession(ctx, st, Canary, sessionstore.Fork{UserID: &s})
		return err
	}},
	{"fork metadata", Text, func(ctx context.Context, st store, s string) error {
		_, err := sessionstore.ForkSession(ctx, st, Canary, sessionstore.Fork{Metadata: data{s: s}})
		return err
	}},
	{"restore id", ID, restores(func(s string) (session, message) { return session{ID: s}, message{ID: "m"} })},
	{"restore user", Name, restores(func(s string) (session, message) { return session{ID: "r", UserID: s}, message{ID: "m"} })},
	{"restore message id", ID, restores(func(s string) (session, message) { return session{ID: "r"}, message{ID: s} })},
	{"restore message text", Text, restores(func(s string) (session, message) {
		return session{ID: "r"}, message{ID: "m", Content: sessionstore.Text(s)}
	})},
}
