package formats

import (
	"slices"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
	"github.com/sessionstore/sessionstore/internal/wire/chat"
)

// openAIRecord makes {"messages": […]} with what Session.Extra["openai"] has beside them,
// as a request has it.
func openAIRecord(p sessionstore.Prompt, left wire.Left) (wire.Object, error) {
	leftMetadata(p, left)
	leftKeys(p, left, "refusal", "audio")
	messages, _, err := chatMessages(p, left)
	if err != nil {
		return nil, err
	}
	o := wire.Object{}.Set("messages", wire.List(messages))
	for _, m := range ownExtra(p.Session, "openai", left).Without("messages") {
		if m.Key == "input" || m.Key == "non_preferred_output" { // of preference data
			left.Note("key of a session")
		} else {
			o = append(o, m)
		}
	}
	return o, nil
}

// finetuneKeys are those that a line of a fine-tuning file has beside its messages.
var finetuneKeys = []string{"tools", "parallel_tool_calls", "functions"}

// finetuneRecord makes a line of a file that a model is trained on: with the keys that such
// a line has, and answers with their weight. Where an import kept a non_preferred_output
// the line is one of preference data again, whose preferred output is what follows the
// user's last message.
func finetuneRecord(p sessionstore.Prompt, left wire.Left) (wire.Object, error) {
	leftMetadata(p, left)
	leftKeys(p, left, "weight", "refusal", "audio")
	messages, answers, err := chatMessages(p, left)
	if err != nil {
		return nil, err
	}
	for i, m := range messages {
		if m.String("role") != "assistant" {
			continue
		}
		if w := p.Messages[answers[0]].Extra["weight"]; string(w) == "0" || string(w) == "1" {
			messages[i] = m.Set("weight", w)
		}
		answers = answers[1:]
	}
	rest := ownExtra(p.Session, "openai", left)
	if rest.Get("non_preferred_output") != nil {
		return preference(messages, rest), nil
	}
	o := wire.Object{}.Set("messages", wire.List(messages))
	for _, m := range rest.Without() {
		if slices.Contains(finetuneKeys, m.Key) {
			o = append(o, m)
		} else {
			left.Note("key of a session")
		}
	}
	return o, nil
}

// withLastCalls returns a prompt without the results that were made up for calls which end
// the conversation: these are what a model is to learn.
func withLastCalls(p sessionstore.Prompt) sessionstore.Prompt {
	end := len(p.Messages)
	for end > 0 && isMadeUp(p.Messages[end-1]) {
		end--
	}
	if end > 0 && p.Messages[end-1].Role == sessionstore.RoleAssistant {
		p.Messages = p.Messages[:end]
	}
	return p
}

// chatMessages returns the messages of a prompt, and for each that is an assistant's, in
// order, its place in the prompt.
func chatMessages(p sessionstore.Prompt, left wire.Left) ([]wire.Object, []int, error) {
	leftCallKeys(p, left)
	list, answers, err := chat.Messages(p, left)
	if err != nil {
		return nil, nil, err
	}
	out := make([]wire.Object, len(list))
	for i, m := range list {
		raw, err := m.AppendJSON(nil)
		if err != nil {
			return nil, nil, err
		}
		out[i] = wire.Parse(raw)
	}
	return out, answers, nil
}

// preference makes a line of preference data. What the record had beside the messages of
// its input is in rest's own input.
func preference(messages []wire.Object, rest wire.Object) wire.Object {
	at := len(messages)
	for at > 0 && messages[at-1].String("role") != "user" {
		at--
	}
	input := append(wire.Object{}.Set("messages", wire.List(messages[:at])), rest.Object("input").Without("messages")...)
	o := wire.Object{}.Set("input", input.Raw()).Set("preferred_output", wire.List(messages[at:]))
	return append(o, rest.Without("input", "preferred_output")...)
}

// ownExtra returns what an import of a format kept beside the messages of a session, and
// tells of what others, or anybody, kept there.
func ownExtra(s sessionstore.Session, format string, left wire.Left) wire.Object {
	for k := range s.Extra {
		if k != format {
			left.Note("key of a session")
		}
	}
	return wire.Parse(s.Extra[format])
}

// leftMetadata tells of metadata, for a format that has no place for any.
func leftMetadata(p sessionstore.Prompt, left wire.Left) {
	if len(p.Session.Metadata) > 0 {
		left.Note("metadata of a session")
	}
	for _, m := range p.Messages {
		if len(m.Metadata) > 0 {
			left.Note("metadata of a message")
		}
	}
}

// leftKeys tells of keys of messages that the library has no field for, but for the known.
func leftKeys(p sessionstore.Prompt, left wire.Left, known ...string) {
	for _, m := range p.Messages {
		for k, v := range m.Extra {
			if k != wire.PositionsKey && string(v) != "null" && !slices.Contains(known, k) {
				left.Note("key of a message")
			}
		}
	}
}

// leftCallKeys tells of keys of calls that the library has no field for, but for the known.
func leftCallKeys(p sessionstore.Prompt, left wire.Left, known ...string) {
	for _, m := range p.Messages {
		for _, c := range m.ToolCalls {
			for k, v := range c.Extra {
				if string(v) != "null" && !slices.Contains(known, k) {
					left.Note("key of a call")
				}
			}
		}
	}
}

// leftNames tells of the names of speakers.
func leftNames(p sessionstore.Prompt, left wire.Left) {
	for _, m := range p.Messages {
		if m.Name != "" {
			left.Note("name of a speaker")
		}
	}
}
