package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
)

// kept is a store in memory whose append goes through a fault.
func kept(fault func(text string, add func(string)) error) *store {
	var mu sync.Mutex
	var history []string
	add := func(text string) { history = append(history, text) }
	h := &handle{
		append: func(_ context.Context, text string) error {
			mu.Lock()
			defer mu.Unlock()
			return fault(text, add)
		},
		all: func(context.Context) ([]string, error) { return slices.Clone(history), nil },
	}
	return &store{
		create: func(context.Context, string, string) error { return nil },
		open:   func(context.Context, string, string) (*handle, error) { return h, nil },
	}
}

// The contest counts what a store does wrong, and nothing else.
func TestContest(t *testing.T) {
	t.Parallel()
	const all = goroutines * each
	third := text(3, 7) // one message of all
	held := ""
	for _, tt := range []struct {
		name  string
		fault func(text string, add func(string)) error
		want  outcome
	}{
		{"sound", func(text string, add func(string)) error { add(text); return nil }, outcome{kept: all}},
		{"loses one", func(text string, add func(string)) error {
			if text != third {
				add(text)
			}
			return nil
		}, outcome{kept: all - 1, lost: 1}},
		{"stores one twice", func(text string, add func(string)) error {
			add(text)
			if text == third {
				add(text)
			}
			return nil
		}, outcome{kept: all - 1, doubled: 1}},
		{"refuses one", func(text string, add func(string)) error {
			if text == third {
				return errors.New("refused")
			}
			add(text)
			return nil
		}, outcome{kept: all - 1, refused: 1}},
		{"stores one that it refuses", func(text string, add func(string)) error {
			add(text)
			if text == third {
				return errors.New("refused")
			}
			return nil
		}, outcome{kept: all - 1, refused: 1, ghosts: 1}},
		{"stores one after the next of its writer", func(text string, add func(string)) error {
			switch {
			case text == third:
				held = text
				return nil
			case held != "" && strings.HasPrefix(text, third[:4]):
				defer add(held)
				defer func() { held = "" }()
			}
			add(text)
			return nil
		}, outcome{kept: all, reordered: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := contest(t.Context(), kept(tt.fault))
			if err != nil {
				t.Fatal(err)
			}
			got.took = 0
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// Our own row of the table.
func TestOursKeepsAll(t *testing.T) {
	t.Parallel()
	s, err := openMemory(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := contest(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if want := (outcome{kept: goroutines * each, took: got.took}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
