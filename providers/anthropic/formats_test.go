package anthropic_test

import (
	"encoding/json"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/stories"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
	"github.com/sessionstore/sessionstore/providers/anthropic"
)

// wireJSON returns the JSON of what is sent, as the SDK writes it.
func wireJSON(p sessionstore.Prompt) ([]byte, error) {
	system, messages, err := anthropic.Messages(p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sdk.MessageNewParams{Model: "m", MaxTokens: 1, System: system, Messages: messages})
}

func TestAnyHistoryIsTaken(t *testing.T) {
	t.Parallel()
	stories.AnyHistory(t, wireJSON, wirecheck.Anthropic)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	stories.Golden(t, "testdata/messages", wireJSON, wirecheck.Anthropic)
}
