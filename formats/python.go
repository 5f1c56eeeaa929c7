package formats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sessionstore/sessionstore"
)

// sortInMemory is how much of a file of python dictionaries is kept in memory; the rest
// lies in a temporary file.
const sortInMemory = 4 << 20

// decodePython reads the dictionaries of the original Python models, in any order:
//
//   - sessions ({"session_id", "agent_name", "status", …}). Of several for one id the
//     last one is the state of the session;
//   - messages ({"message_id", "session_id", "role", …}) of sessions of the same file,
//     in the order in which they stand there;
//   - what the agent handle wrote ({"session_id", "system", "messages"}): a session with
//     its whole history. One without a session_id gets a derived id. Of several for one
//     id the last one counts. With a session dictionary of the same id, that one gives
//     the state; with message dictionaries of the same id it is an error.
//
// Ids, status and times are kept. As messages may stand anywhere, nothing is written
// before the file has been read. A session is imported with all its messages or not at
// all: a bad message keeps its session out.
//
// Where the session of a bad record cannot be told, because it is no JSON, too large or
// names none, it is reported, and every session imported as the rest of the file has it.
// One of them may then lack a message. The mended file completes it: see the importer's
// mend.
func decodePython(ctx context.Context, r io.Reader, o *Options) iter.Seq2[conversation, error] {
	return func(yield func(conversation, error) bool) {
		p := &python{
			lines: sorter{limit: sortInMemory, dir: o.TempDir},
			spool: spool{dir: o.TempDir},
			yield: yield,
		}
		defer p.close()
		err := p.read(ctx, r)
		// After the place where the records can no longer be told apart, nothing is read. What
		// was read before is imported, as it is of the formats that are written on the way.
		broken, ok := errors.AsType[*SyntaxError](err)
		if err == nil || ok {
			err = p.groups(ctx)
		}
		if err == nil && ok {
			err = broken
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(conversation{}, err)
		}
	}
}

type python struct {
	lines sorter
	spool spool // of agent dictionaries
	yield func(conversation, error) bool
}

func (p *python) close() {
	p.lines.close()
	p.spool.close()
}

// dictionary is what a line is.
type dictionary int

const (
	sessionDict dictionary = iota
	messageDict
	agentDict
)

func kindOf(o object) dictionary {
	switch {
	case o.has("messages"):
		return agentDict
	case o.has("role"), o.has("message_id"):
		return messageDict
	}
	return sessionDict
}

// read passes all lines to the sorter.
func (p *python) read(ctx context.Context, r io.Reader) error {
	var failed error
	err := readRecords(r, nil, func(rec record) bool {
		if failed = ctx.Err(); failed != nil {
			return false
		}
		if rec.err == nil {
			rec.err, failed = p.line(rec)
		} else {
			failed = p.unread(rec)
		}
		if rec.err != nil && failed == nil {
			failed = p.report(rec.line, rec.index, rec.err)
		}
		return failed == nil
	})
	return cmp.Or(failed, err)
}

// line takes a record. Bad says what is wrong with it; err ends the import.
func (p *python) line(rec record) (bad, err error) {
	o, ok := parseObject(rec.text)
	if !ok {
		return invalid("record", "is not an object"), nil
	}
	id, ok := o.text("session_id")
	if !ok {
		return invalid("session_id", "is not a string"), nil
	}
	if id == "" && kindOf(o) != agentDict {
		return invalid("session_id", "is missing"), nil
	}
	return nil, p.lines.add(sortedLine{session: id, line: rec.line, index: rec.index, text: rec.text})
}

// unread keeps the session out of a record that check refused, if that names one.
// Encoding/json, other than check, takes strings that are not Unicode, and values that
// are too deep.
func (p *python) unread(rec record) error {
	var o struct {
		ID string `json:"session_id"`
	}
	if json.Unmarshal(bytesOf(rec.text), &o) != nil || o.ID == "" || strings.ContainsRune(o.ID, utf8.RuneError) {
		return nil // the rune stands for bytes that cannot be read
	}
	return p.lines.add(sortedLine{session: o.ID, line: rec.line, index: rec.index})
}

// report returns errStop if nobody listens any more.
func (p *python) report(line, index int64, err error) error {
	if !p.yield(conversation{}, RecordError{Line: line, Index: index, Err: err}) {
		return errStop
	}
	return nil
}

// groups yields the sessions, in the order of their ids.
func (p *python) groups(ctx context.Context) error {
	places, err := p.lines.finish()
	if err != nil {
		return err
	}
	m, err := p.lines.merge(places)
	if err != nil {
		return err
	}
	for {
		id, ok := m.session()
		if !ok {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if id == "" {
			err = p.anonymous(m)
		} else {
			err = p.group(m, id)
		}
		if err != nil {
			return err
		}
	}
}

// anonymous reads one agent dictionary without an id from m and yields its session.
func (p *python) anonymous(m *merger) error {
	l, err := m.next()
	if err != nil {
		return err
	}
	g := group{agent: &l, spool: &p.spool}
	c, err := g.conversation()
	if p.spool.err != nil {
		return p.spool.err
	}
	if err != nil {
		return p.report(l.line, l.index, err)
	}
	c.record, c.size = l.text, len(l.text)
	l.text = "" // c has it as long as it is needed
	if !p.yield(c, nil) {
		return errStop
	}
	return nil
}

// group reads the lines of one session from m and yields it.
func (p *python) group(m *merger, id string) error {
	g := group{spool: &p.spool}
	places := m.places()
	bad, size := false, 0
	for {
		if next, ok := m.session(); !ok || next != id {
			break
		}
		l, err := m.next()
		if err != nil {
			return err
		}
		if l.text == "" { // see unread; it was reported
			bad = true
			continue
		}
		isMessage, err := g.add(l)
		if err != nil {
			bad = true
			if err := p.report(l.line, l.index, fmt.Errorf("session %q is left out: %w", clip(id), err)); err != nil {
				return err
			}
		}
		if size += len(l.text); isMessage && (bad || size > maxWriteBytes) {
			g.messages = nil
		}
	}
	if bad {
		return nil
	}
	c, err := g.conversation()
	if p.spool.err != nil {
		return p.spool.err
	}
	if err != nil {
		at := g.where()
		return p.report(at.line, at.index, fmt.Errorf("session %q is left out: %w", clip(id), err))
	}
	if g.agent != nil {
		g.agent.text = "" // it may be large, and its messages are in the spool
	}
	c.size = size
	if g.agent == nil && int64(len(g.messages)) < g.count {
		c.messages = p.replay(places, id)
	}
	if !p.yield(c, nil) {
		return errStop
	}
	return nil
}

// replay reads the messages of a session that does not fit into memory once more. They
// were all good the first time.
func (p *python) replay(places []int64, id string) messageSeq {
	return func(yield func(sessionstore.Message, error) bool) {
		m, err := p.lines.merge(places)
		for err == nil {
			if next, ok := m.session(); !ok || next != id {
				return
			}
			var l sortedLine
			if l, err = m.next(); err != nil {
				break
			}
			var g group
			var isMessage bool
			isMessage, err = g.add(l)
			l.text = "" // it may be large
			if err == nil && isMessage && !yield(g.messages[0], nil) {
				return
			}
		}
		yield(sessionstore.Message{}, err)
	}
}

// group collects what a file has about one session.
type group struct {
	session, agent *sortedLine // the last dictionary of each kind, or nil
	spool          *spool      // for the messages of agent

	count       int64 // of messages
	messages    []sessionstore.Message
	at          sortedLine // the first of them
	first, last time.Time  // their first and their latest time
}

// add takes a line and reports whether it is a message.
func (g *group) add(l sortedLine) (isMessage bool, err error) {
	o, _ := parseObject(l.text)
	switch kindOf(o) {
	case sessionDict:
		g.session = &l
		return false, nil
	case agentDict:
		g.agent = &l
		return false, nil
	}
	m, err := decodeMessage(l.text)
	if err == nil && !m.Role.Valid() {
		err = invalid("role", fmt.Sprintf("unknown role %q", clip(string(m.Role))))
	}
	if g.count++; g.count == 1 {
		g.at = sortedLine{line: l.line, index: l.index}
	}
	g.saw(m)
	g.messages = append(g.messages, m)
	return true, err
}

func (g *group) saw(m sessionstore.Message) {
	if g.first.IsZero() {
		g.first = m.CreatedAt
	}
	if m.CreatedAt.After(g.last) {
		g.last = m.CreatedAt
	}
}

// where returns the line that errors about the whole session are reported at.
func (g *group) where() sortedLine {
	switch {
	case g.session != nil:
		return *g.session
	case g.agent != nil:
		return *g.agent
	}
	return g.at
}

// conversation puts the session together.
func (g *group) conversation() (conversation, error) {
	var s sessionstore.Session
	var err error
	switch {
	case g.session != nil:
		s, err = sessionstore.DecodeSession([]byte(g.session.text))
	case g.agent == nil:
		return conversation{}, invalid("session_id", "names a session that is not in the file")
	}
	messages := inOrder(g.messages)
	if err == nil && g.agent != nil {
		s, messages, err = g.addAgent(s)
	}
	if err != nil {
		return conversation{}, err
	}
	if s.CreatedAt.IsZero() {
		s.CreatedAt = g.first
	}
	if s.UpdatedAt.IsZero() {
		s.UpdatedAt = s.CreatedAt
		if g.last.After(s.UpdatedAt) {
			s.UpdatedAt = g.last
		}
	}
	at := g.where()
	return conversation{line: at.line, index: at.index, session: s, messages: messages, count: g.count}, nil
}

// addAgent returns the history of an agent dictionary, and s, which is zero without a
// session dictionary, with what that does not say.
func (g *group) addAgent(s sessionstore.Session) (sessionstore.Session, messageSeq, error) {
	if g.count > 0 {
		return s, nil, invalid("messages", "the session has message dictionaries and an agent dictionary with messages")
	}
	o, _ := parseObject(g.agent.text)
	a := sessionstore.Session{}
	if rest := o.without("messages"); rest != nil {
		var err error
		if a, err = sessionstore.DecodeSession(rest); err != nil {
			return s, nil, err
		}
	}
	list := o.get("messages")
	if list != "" && !isArray(list) {
		return s, nil, invalid("messages", "is not a list")
	}
	g.spool.start(len(g.agent.text))
	for e := range elements(list) {
		m, err := decodeMessage(e)
		if err == nil {
			m.SessionID = "" // the conversation's, whatever it says
			g.saw(m)
			err = g.spool.add(m)
		}
		if err != nil {
			return s, nil, fmt.Errorf("messages[%d]: %w", g.count, err)
		}
		g.count++
	}
	messages, err := g.spool.all()
	if err != nil {
		return s, nil, err
	}
	if g.session == nil {
		return a, messages, nil
	}
	if s.System == "" {
		s.System = a.System
	}
	s.Metadata = joined(a.Metadata, s.Metadata)
	s.Extra = joined(a.Extra, s.Extra)
	return s, messages, nil
}

// joined returns the entries of both maps, those of b where both have one.
func joined[M ~map[string]V, V any](a, b M) M {
	if len(a) == 0 {
		return b
	}
	a = maps.Clone(a)
	maps.Copy(a, b)
	return a
}
