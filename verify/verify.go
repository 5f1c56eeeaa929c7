// Package verify checks that a live store keeps its own promises: every invariant of
// package sessionstore that its public methods can show. It reads only, it may run while
// others write, and it links no testing package, so that tools can offer it.
//
//	report, err := verify.Store(ctx, store, nil)
//	if err == nil {
//		err = report.Err()
//	}
package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// Options are the bounds of a check. The zero value, like a nil pointer, checks the whole
// store.
type Options struct {
	UserID      string // only the sessions of this user; "": all
	PageSize    int    // sessions and messages read at once, 1 to 1,000; 0 = 100
	MaxProblems int    // problems listed in the report; 0 = 100; the others are only counted
}

// Problem is one broken invariant.
type Problem struct {
	SessionID string // "" where it is about no single session
	Rule      string // the id of the broken rule, as in the comments of package sessionstore
	Detail    string
}

// String returns the problem on one line.
func (p Problem) String() string {
	return fmt.Sprintf("session %q: [%s] %s", p.SessionID, p.Rule, p.Detail)
}

// Report is what a check found.
type Report struct {
	Sessions int64     // sessions checked
	Messages int64     // messages checked
	Total    int64     // problems found
	Problems []Problem // the first of them, at most Options.MaxProblems

	// Unsettled counts the sessions that changed so fast that no two looks at them
	// agreed. What seemed wrong with them is not among the problems.
	Unsettled int64
}

// Err returns nil if no problem was found, else an error that lists those of the report.
func (r Report) Err() error {
	if r.Total == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "verify: %d problems", r.Total)
	for _, p := range r.Problems {
		b.WriteString("\n\t")
		b.WriteString(p.String())
	}
	if n := r.Total - int64(len(r.Problems)); n > 0 {
		fmt.Fprintf(&b, "\n\tand %d more", n)
	}
	return errors.New(b.String())
}

// Store walks the sessions of a store and all their messages and reports what is wrong.
// The error says that the check could not be carried out: the context's, the driver's, or
// ErrInvalid for options out of range. The report then holds what was seen until then.
//
// Nothing is called a problem on one look: what a concurrent write may explain is read
// again, and must look the same twice. Memory is that of two pages, and about 50 bytes a
// message of the one session being read. A session costs about five calls and its
// messages' pages.
func Store(ctx context.Context, store sessionstore.SessionStore, o *Options) (Report, error) {
	c := checker{ctx: ctx, store: store}
	if o != nil {
		c.opt = *o
	}
	if c.opt.PageSize == 0 {
		c.opt.PageSize = 100
	}
	if c.opt.MaxProblems == 0 {
		c.opt.MaxProblems = 100
	}
	if c.opt.PageSize < 0 || c.opt.PageSize > min(sessionstore.MaxSessions, sessionstore.MaxMessages) {
		return Report{}, &sessionstore.InvalidError{Field: "PageSize", Reason: "must be 0 to 1,000"}
	}
	if c.opt.MaxProblems < 0 {
		return Report{}, &sessionstore.InvalidError{Field: "MaxProblems", Reason: "must not be negative"}
	}
	if err := c.sessions(); err != nil {
		return c.report, fmt.Errorf("verify: %w", err)
	}
	return c.report, nil
}

type checker struct {
	ctx    context.Context
	store  sessionstore.SessionStore
	opt    Options
	report Report
}

// finding is what one look shows. Its key is what a second look must show again: it names
// the fault by what concurrent appends do not move.
type finding struct {
	rule, key, detail string

	moving bool // not a fault, but a change during the look: it says nothing, twice neither
}

func found(rule, key, format string, args ...any) finding {
	return finding{rule: rule, key: key, detail: fmt.Sprintf(format, args...)}
}

// looks is how often a thing is read until two looks in a row agree.
const looks = 6

// settle looks until nothing is wrong or until two looks in a row find the same, which
// is then reported.
func (c *checker) settle(id string, look func() ([]finding, error)) error {
	var before []finding
	for range looks {
		now, err := look()
		if err != nil {
			return err
		}
		if len(now) == 0 {
			return nil
		}
		if both := common(before, now); len(both) > 0 {
			for _, f := range both {
				c.problem(id, f)
			}
			return nil
		}
		before = now
	}
	c.report.Unsettled++
	return nil
}

// common returns those of now that before has too.
func common(before, now []finding) []finding {
	var out []finding
	for _, f := range now {
		for _, g := range before {
			if f.rule == g.rule && f.key == g.key && !f.moving {
				out = append(out, f)
				break
			}
		}
	}
	return out
}

func (c *checker) problem(id string, f finding) {
	c.report.Total++
	if len(c.report.Problems) < c.opt.MaxProblems {
		c.report.Problems = append(c.report.Problems, Problem{SessionID: id, Rule: f.rule, Detail: f.detail})
	}
}

// unreadable tells an error that a damaged record explains from one that ends the check.
func unreadable(err error) bool {
	return errors.Is(err, sessionstore.ErrInvalid) || errors.Is(err, sessionstore.ErrTooLarge) || errors.Is(err, sessionstore.ErrSchemaTooNew)
}
