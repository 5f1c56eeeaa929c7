package linear

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience is how long one session's order is looked for. Histories are so short that it
// takes milliseconds.
const patience = time.Minute

// Check returns nil if the calls on each session have an order that the contract allows.
// Otherwise it writes those on the first session that has none to a new folder in dir, and
// the error names it; an empty dir is the system's for temporary files.
func Check(calls []Call, dir string) error {
	bySession := map[string][]Call{}
	var sessions []string
	for _, c := range calls {
		if _, ok := bySession[c.Session]; !ok {
			sessions = append(sessions, c.Session)
		}
		bySession[c.Session] = append(bySession[c.Session], c)
	}
	slices.Sort(sessions)
	for _, id := range sessions {
		history := operations(bySession[id])
		if porcupine.CheckOperationsTimeout(model, history, patience) == porcupine.Ok {
			continue
		}
		result, info := porcupine.CheckOperationsVerbose(model, history, patience)
		why := fmt.Errorf("the calls on session %q have no order that the contract allows", id)
		if result == porcupine.Unknown {
			why = fmt.Errorf("no order of the %d calls on session %q was found in %v", len(bySession[id]), id, patience)
		}
		at, err := keep(bySession[id], info, dir)
		if err != nil {
			return fmt.Errorf("%w; keeping them: %w", why, err)
		}
		return fmt.Errorf("%w: see %s%s", why, at, stuck(bySession[id], info))
	}
	return nil
}

func operations(calls []Call) []porcupine.Operation {
	history := make([]porcupine.Operation, len(calls))
	for i := range calls {
		c := &calls[i]
		history[i] = porcupine.Operation{ClientId: c.Client, Input: c, Call: c.Start, Return: c.End}
	}
	return history
}

// keep writes what is wrong to a folder, and returns its name.
func keep(calls []Call, info porcupine.LinearizationInfo, dir string) (string, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
	}
	at, err := os.MkdirTemp(dir, "sessionstore-linear-")
	if err != nil {
		return "", err
	}
	if err := Save(filepath.Join(at, "history.json"), calls); err != nil {
		return "", err
	}
	return at, porcupine.VisualizePath(model, info, filepath.Join(at, "history.html"))
}

// stuck returns the calls that follow the longest order that was found, for the failure's
// text: one of them is wrong.
func stuck(calls []Call, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	placed := map[*Call]bool{}
	var b strings.Builder
	for i, op := range longest {
		c := op.Input.(*Call)
		placed[c] = true
		if i >= len(longest)-3 {
			fmt.Fprintf(&b, "\n  in order:  %v", c)
		}
	}
	left := 0
	for i := range calls {
		if !placed[&calls[i]] && calls[i].End != Never {
			if left++; left <= 3 {
				fmt.Fprintf(&b, "\n  no place:  %v", calls[i])
			}
		}
	}
	return b.String()
}
