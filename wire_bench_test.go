package sessionstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sessionstore/sessionstore"
)

func benchMessage() sessionstore.Message {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 9)
	return sessionstore.Message{
		ID: "01890a5d-ac96-774b-bcce-b302099a8057", SessionID: "session-0001", Seq: 4711,
		Role: sessionstore.RoleAssistant, Content: sessionstore.Text(text), AgentName: "support",
		CreatedAt: time.Date(2026, 3, 1, 9, 30, 0, 123456000, time.UTC),
		Metadata:  sessionstore.Metadata{"model": "large-1", "tokens": int64(412)},
	}
}

func BenchmarkMessageAppendJSON(b *testing.B) {
	m := benchMessage()
	buf, err := m.AppendJSON(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = m.AppendJSON(buf[:0])
	}
}

func BenchmarkDecodeMessage(b *testing.B) {
	text, err := benchMessage().AppendJSON(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sessionstore.DecodeMessage(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeMessageCalls(b *testing.B) {
	m := benchMessage()
	m.ToolCalls = []sessionstore.ToolCall{{ID: "call_1", Type: "function", Name: "lookup", Arguments: `{"order": 9007199254740993}`}}
	text, err := m.AppendJSON(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sessionstore.DecodeMessage(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	a := sessionstore.Append{Messages: []sessionstore.Message{benchMessage()}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Prepare("session-0001"); err != nil {
			b.Fatal(err)
		}
	}
}
