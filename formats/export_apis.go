package formats

import (
	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
	"github.com/sessionstore/sessionstore/internal/wire/claude"
	"github.com/sessionstore/sessionstore/internal/wire/responses"
)

// anthropicRecord makes {"system", "messages"} with what Session.Extra["anthropic"] has
// beside them. A content that is one plain text is a string.
func anthropicRecord(p sessionstore.Prompt, left wire.Left) (wire.Object, error) {
	leftMetadata(p, left)
	leftKeys(p, left, append([]string{"refusal"}, resultKeys...)...)
	leftCallKeys(p, left, "cache_control", "caller", "toolset_name")
	leftNames(p, left)
	system, turns, err := claude.Messages(p, left)
	if err != nil {
		return nil, err
	}
	var o wire.Object
	if len(system) > 0 {
		o = o.Set("system", content(system))
	}
	messages := make([]wire.Object, len(turns))
	for i, t := range turns {
		messages[i] = wire.Object{}.SetString("role", t.Role).Set("content", content(t.Blocks))
	}
	o = o.Set("messages", wire.List(messages))
	return append(o, ownExtra(p.Session, "anthropic", left).Without("system", "messages")...), nil
}

func content(blocks []wire.Object) []byte {
	if len(blocks) == 1 && blocks[0].String("type") == "text" && blocks[0].Only("type", "text") {
		return blocks[0].Get("text")
	}
	return wire.List(blocks)
}

// responsesRecord makes {"instructions", "input"} with what Session.Extra["responses"] has
// beside them.
func responsesRecord(p sessionstore.Prompt, left wire.Left) (wire.Object, error) {
	leftMetadata(p, left)
	leftKeys(p, left, "refusal")
	leftCallKeys(p, left, "namespace", "caller", "async")
	leftNames(p, left)
	items, err := responses.Items(p, false, left)
	if err != nil {
		return nil, err
	}
	var o wire.Object
	if p.Session.System != "" {
		o = o.SetString("instructions", p.Session.System)
	}
	o = o.Set("input", wire.List(items))
	return append(o, ownExtra(p.Session, "responses", left).Without("instructions", "input", "output")...), nil
}
