package sessionstore

import "context"

// pairing matches the results in a history with the calls that they answer, as messages
// are added in order. It never changes them.
//
// A result belongs to the nearest message before it that made a call of its id: ids may
// repeat across turns, and a result may come turns later. If one message made several
// calls of the same id, they are answered in order. Another result for a call that has
// one replaces it. So what a call is paired with depends on what follows it alone, and
// the newest part of a history can be paired without reading the rest.
type pairing struct {
	seen  int          // messages added
	calls []pairedCall // in order
	byID  map[string]sameID
}

type pairedCall struct {
	call   ToolCall
	result int // index of the message that answers it; -1: none
}

// sameID are the calls of one id that one message made.
type sameID struct {
	message  int
	calls    []int // indices into pairing.calls
	answered int   // results seen, which may be more than there are calls
}

func (p *pairing) add(m Message) {
	switch m.Role {
	case RoleAssistant:
		for _, c := range m.ToolCalls {
			if p.byID == nil {
				p.byID = make(map[string]sameID)
			}
			same, ok := p.byID[c.ID]
			if !ok || same.message != p.seen {
				same = sameID{message: p.seen}
			}
			same.calls = append(same.calls, len(p.calls))
			p.byID[c.ID] = same
			p.calls = append(p.calls, pairedCall{call: c, result: -1})
		}
	case RoleTool:
		if same, ok := p.byID[m.ToolCallID]; ok {
			p.calls[same.calls[min(same.answered, len(same.calls)-1)]].result = p.seen
			same.answered++
			p.byID[m.ToolCallID] = same
		}
	}
	p.seen++
}

// pendingCalls reads the whole history once.
func pendingCalls(ctx context.Context, store SessionStore, id string) ([]ToolCall, error) {
	return reread(func() ([]ToolCall, error) {
		var p pairing
		for page, err := range snapshot(ctx, store, id, MessageQuery{}) {
			if err != nil {
				return nil, err
			}
			for _, m := range page.Messages {
				p.add(m)
			}
		}
		pending := []ToolCall{}
		for _, c := range p.calls {
			if c.result < 0 {
				pending = append(pending, c.call)
			}
		}
		return pending, nil
	})
}
