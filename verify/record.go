package verify

import (
	"bytes"
	"errors"
	"reflect"

	"github.com/sessionstore/sessionstore"
)

// inspectSession checks a record by itself: what a create would refuse or change is no
// record that a store may show.
func inspectSession(s sessionstore.Session) []finding {
	var out []finding
	if s.Version < 1 {
		out = append(out, found("update.version", "version", "its version is %d", s.Version))
	}
	if s.MessageCount < 0 || s.LastSeq < s.MessageCount {
		out = append(out, found("append.atomic", "counters", "message_count is %d with last_seq %d", s.MessageCount, s.LastSeq))
	}
	normal, err := s.Create(s.UpdatedAt)
	if err != nil {
		return append(out, found(ruleOf(err, "create"), "record", "no valid record: %v", err))
	}
	if !normal.ExpiresAt.Equal(s.ExpiresAt) {
		out = append(out, found("expire", "expires_at", "expires_at is %v, updated_at plus ttl is %v", s.ExpiresAt, normal.ExpiresAt))
		normal.ExpiresAt = s.ExpiresAt
	}
	normal.LastSeq, normal.MessageCount, normal.Version = s.LastSeq, s.MessageCount, s.Version
	if !reflect.DeepEqual(normal, s) {
		return append(out, found("same", "normal form", "not in normal form: %#v instead of %#v", s, normal))
	}
	b, err := s.AppendJSON(nil)
	if err != nil {
		return append(out, found("same", "json", "it cannot be written as JSON: %v", err))
	}
	back, err := sessionstore.DecodeSession(b)
	if err != nil || !reflect.DeepEqual(back, s) {
		return append(out, found("same", "json", "its JSON reads back as %#v, %v instead of %#v", back, err, s))
	}
	return out
}

// inspectMessage checks a message by itself.
func inspectMessage(id string, m sessionstore.Message) []finding {
	key := m.ID
	if m.SessionID != id {
		return []finding{found("same", key, "message %q has the session_id %q", m.ID, m.SessionID)}
	}
	if m.ID == "" || m.CreatedAt.IsZero() || m.Seq < 1 {
		return []finding{found("append.order", key, "message %q with seq %d and created_at %v lacks what a store assigns", m.ID, m.Seq, m.CreatedAt)}
	}
	batch, err := sessionstore.Append{Messages: []sessionstore.Message{m}}.Prepare(id)
	if err != nil {
		return []finding{found(ruleOf(err, "same"), key, "message %q is not valid: %v", m.ID, err)}
	}
	normal := batch.Messages[0]
	normal.Seq = m.Seq
	if !reflect.DeepEqual(normal, m) {
		return []finding{found("same", key, "message %q is not in normal form: %#v instead of %#v", m.ID, m, normal)}
	}
	b, err := m.AppendJSON(nil)
	if err != nil {
		return []finding{found("same", key, "message %q cannot be written as JSON: %v", m.ID, err)}
	}
	back, err := sessionstore.DecodeMessage(b)
	if err != nil || !reflect.DeepEqual(back, m) {
		return []finding{found("same", key, "the JSON of message %q reads back as %#v, %v instead of %#v", m.ID, back, err, m)}
	}
	if again, err := back.AppendJSON(nil); err != nil || !bytes.Equal(again, b) {
		return []finding{found("same", key, "the JSON of message %q is %s, and after reading it %s, %v", m.ID, b, again, err)}
	}
	return nil
}

// ruleOf names the rule that an error of validation stands for.
func ruleOf(err error, otherwise string) string {
	if errors.Is(err, sessionstore.ErrTooLarge) {
		return "limits"
	}
	var invalid *sessionstore.InvalidError
	if errors.As(err, &invalid) {
		switch invalid.Field {
		case "session_id", "message_id", "parent_id", "user_id", "agent_name":
			return "id.any"
		case "ttl_seconds":
			return "expire"
		case "fork_seq":
			return "fork"
		}
	}
	return otherwise
}
