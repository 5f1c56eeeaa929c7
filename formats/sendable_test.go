package formats_test

import (
	"encoding/json"
	"testing"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/chatcheck"
)

// checkSendable fails if a history is not one that a chat-completions API takes, once what
// only an adapter can translate, parts of other kinds, is left out.
func checkSendable(t *testing.T, s sessionstore.Session, messages []sessionstore.Message) {
	t.Helper()
	known := make([]sessionstore.Message, 0, len(messages))
	for _, m := range messages {
		if m.Content.IsParts() {
			var parts []sessionstore.Part
			for _, p := range m.Content.All() {
				switch p.Type() {
				case "text":
					parts = append(parts, sessionstore.TextPart(p.Text()))
				case "image_url":
					if p.ImageURL() != "" {
						parts = append(parts, sessionstore.ImagePart(p.ImageURL()))
					}
				case "reasoning", "thinking", "redacted_thinking":
					parts = append(parts, p)
				}
			}
			m.Content = sessionstore.Parts(parts...)
		}
		if m.Role == sessionstore.RoleTool && m.Content.IsParts() {
			m.Content = sessionstore.Text(m.Content.String())
		}
		known = append(known, m)
	}
	p, err := sessionstore.NewPrompt(s, known, nil)
	if err != nil {
		t.Errorf("no prompt: %v", err)
		return
	}
	list := p.ChatMessages()
	raw, err := json.Marshal(list)
	if err == nil {
		err = chatcheck.List(raw)
	}
	if err != nil {
		t.Errorf("history that cannot be sent: %v\n%s", err, raw)
	}
}
