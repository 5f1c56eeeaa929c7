package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// outcome is what became of 32 × 50 appends to one session at once.
type outcome struct {
	refused   int64 // the call returned an error
	kept      int   // the call returned none, and the message is in the history once
	lost      int   // the call returned none, and the message is not there
	doubled   int   // it is there more than once
	ghosts    int   // it is there though the call returned an error
	reordered int   // it is there before one that the same goroutine had finished earlier
	took      time.Duration
	unread    error // the history could not be read afterwards
}

const each = 50

// contest has each goroutine append with a new handle each time, as the requests to a
// server would that come at the same time.
func contest(ctx context.Context, s *store) (o outcome, err error) {
	id := fmt.Sprintf("contest-%d", time.Now().UnixNano())
	if err := s.create(ctx, "user", id); err != nil {
		return o, err
	}
	// A session that is there, and not the first append to it, is what all have in common.
	h, err := s.open(ctx, "user", id)
	if err == nil {
		err = h.append(ctx, text(999, 0))
	}
	if err != nil {
		return o, err
	}
	var done [goroutines][each]bool
	var refused atomic.Int64
	start := time.Now()
	err = together(func(g int) error {
		for i := range each {
			h, err := s.open(ctx, "user", id)
			if err != nil {
				return err
			}
			if err := h.append(ctx, text(g, i)); err != nil {
				refused.Add(1)
				continue
			}
			done[g][i] = true
		}
		return nil
	})
	o.took, o.refused = time.Since(start), refused.Load()
	if err != nil {
		return o, err
	}
	if h, err = s.open(ctx, "user", id); err != nil {
		return o, err
	}
	history, err := h.all(ctx)
	if err != nil {
		o.unread = err
		return o, nil
	}
	var seen [goroutines][each]int
	var last [goroutines]int
	for _, t := range history {
		var g, i int
		if _, err := fmt.Sscanf(t, "%d %d", &g, &i); err != nil || g >= goroutines || i >= each {
			continue // the first one
		}
		if seen[g][i]++; i < last[g] {
			o.reordered++
		}
		last[g] = i
	}
	for g := range done {
		for i, ok := range done[g] {
			switch n := seen[g][i]; {
			case ok && n == 0:
				o.lost++
			case n > 1:
				o.doubled++
			case ok:
				o.kept++
			case n > 0:
				o.ghosts++
			}
		}
	}
	return o, nil
}
