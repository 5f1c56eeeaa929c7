package gemini_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/genai"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/stories"
	"github.com/sessionstore/sessionstore/internal/wirecheck"
	"github.com/sessionstore/sessionstore/providers/gemini"
)

// wireJSON returns the JSON of what is sent, under the API's keys.
func wireJSON(p sessionstore.Prompt) ([]byte, error) {
	system, contents, err := gemini.Contents(p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		System   *genai.Content   `json:"systemInstruction,omitempty"`
		Contents []*genai.Content `json:"contents"`
	}{system, contents})
}

func TestAnyHistoryIsTaken(t *testing.T) {
	t.Parallel()
	stories.AnyHistory(t, wireJSON, wirecheck.Gemini)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	stories.Golden(t, "testdata/contents", wireJSON, wirecheck.Gemini)
}
