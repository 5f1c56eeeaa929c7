package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/spf13/pflag"
)

// countFlag takes a number of 0 or more.
func countFlag(f *pflag.FlagSet, p *int, name, usage string) {
	f.Func(name, usage, func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return errors.New("not a number of 0 or more")
		}
		*p = n
		return nil
	})
}

// nameFlag takes an id, a name or the like, which cannot be empty: an empty one is a
// shell's variable that is not set, and would mean all users rather than that one.
func nameFlag(f *pflag.FlagSet, p *string, name, usage string) {
	f.Func(name, usage, func(s string) (err error) {
		*p, err = notEmpty(s)
		return err
	})
}

func notEmpty(s string) (string, error) {
	if s == "" {
		return "", errors.New("must not be empty")
	}
	return s, nil
}

// optional is a flag that does something only when it is given.
type optional[T any] struct{ value *T }

func (o *optional[T]) given() bool { return o.value != nil }

// or returns the value, or def if the flag was not given.
func (o *optional[T]) or(def T) T {
	if o.value == nil {
		return def
	}
	return *o.value
}

func (o *optional[T]) flag(f *pflag.FlagSet, name, usage string, parse func(string) (T, error)) {
	f.Func(name, usage, func(s string) error {
		v, err := parse(s)
		if err != nil {
			return err
		}
		o.value = &v
		return nil
	})
}

func anyText(s string) (string, error) { return s, nil }

func seqNumber(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, errors.New("not a sequence number of 0 or more")
	}
	return n, nil
}

func versionNumber(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, errors.New("not a version of 1 or more")
	}
	return n, nil
}

func lifetime(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	never := err == nil && d == 0 && !strings.ContainsAny(s, "123456789") // 0.1ns is 0, too
	if err != nil || d < time.Microsecond && !never || d > sessionstore.MaxTTL {
		return 0, errors.New("not a duration such as 90s or 720h of 1us to 100 years, or 0 for never")
	}
	return d, nil
}

// statusFlag is --status; it takes the statuses of a filter; it may be given several times.
func statusFlag(f *pflag.FlagSet, p *[]sessionstore.Status) {
	f.Func("status", "only sessions of this `STATUS`: active, paused or closed; may be given again", func(s string) error {
		st := sessionstore.Status(s)
		if !st.Valid() {
			return errors.New("not one of active, paused and closed")
		}
		*p = append(*p, st)
		return nil
	})
}

// metadataFlags are --set and --set-string.
type metadataFlags struct{ set sessionstore.Metadata }

func (m *metadataFlags) add(f *pflag.FlagSet) {
	put := func(s string, value func(string) (any, error)) error {
		key, text, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("not KEY=VALUE")
		}
		v, err := value(text)
		if err != nil {
			return err
		}
		if m.set == nil {
			m.set = sessionstore.Metadata{}
		}
		m.set[key] = v
		return nil
	}
	f.Func("set", "metadata `KEY=VALUE`; a VALUE that is JSON is taken as JSON, else as text; may be given again",
		func(s string) error { return put(s, metadataValue) })
	f.Func("set-string", "metadata `KEY=TEXT`, never taken as JSON; may be given again",
		func(s string) error { return put(s, func(text string) (any, error) { return text, nil }) })
}

// metadataValue reads a value as the store would read it from a file.
func metadataValue(text string) (any, error) {
	if !jsonText(text) {
		return text, nil
	}
	s, err := sessionstore.DecodeSession(fmt.Appendf(nil, `{"session_id":"x","metadata":{"v":%s}}`, text))
	if err != nil {
		return nil, err
	}
	return s.Metadata["v"], nil
}
