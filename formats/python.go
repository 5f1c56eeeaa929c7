package formats

import (
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

// sortInMemory is how much of a file of python dictionaries, and of one session in it, is
// kept in memory; the rest lies in a temporary file.
const sortInMemory = 8 << 20

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
// all: a bad message keeps its session out. Where the session cannot be told, because the
// record is no JSON or too large, any of them may lack it, and nothing is imported
// ([ErrUnreadable]); nor is anything of a file that is cut, which a line without an end
// shows that is no JSON (*[SyntaxError]). A cut between two lines shows nowhere. A record
// that is good JSON and names no session is reported, and keeps nothing out.
func decodePython(ctx context.Context, r io.Reader, o *Options) iter.Seq2[conversation, error] {
	return func(yield func(conversation, error) bool) {
		p := &python{lines: sorter{limit: sortInMemory, dir: o.TempDir}, limit: sortInMemory, yield: yield}
		defer p.lines.close()
		err := p.read(ctx, r)
		if err == nil {
			err = p.groups(ctx)
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(conversation{}, err)
		}
	}
}

// ErrUnreadable is the error for a python file in which a record's session cannot be told:
// its sessions may be incomplete, and an incomplete one that was imported would stay so.
// Each such record is reported first. Mend or remove them and import the file again.
var ErrUnreadable = errors.New("nothing is imported: what cannot be read may belong to any session")

type python struct {
	lines      sorter
	limit      int
	yield      func(conversation, error) bool
	unreadable bool // there was a record whose session cannot be told
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
	var cut *record
	err := readRecords(r, nil, func(rec record) bool {
		if failed = ctx.Err(); failed != nil {
			return false
		}
		readable := true
		if rec.err == nil {
			rec.err, failed = p.line(rec)
		} else {
			readable, failed = p.unread(rec)
		}
		if !readable && rec.last && rec.text != "" {
			cut = &rec
			return true // there is no next one
		}
		p.unreadable = p.unreadable || !readable
		if rec.err != nil && failed == nil {
			failed = p.report(rec.line, rec.index, rec.err)
		}
		return failed == nil
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return err
	case cut != nil:
		return &SyntaxError{Line: cut.line, Offset: cut.end, Index: cut.index, Reason: "the file ends within a record"}
	case p.unreadable:
		return ErrUnreadable
	}
	return nil
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

// unread keeps the session of a record out that check refused. It returns false if the
// record does not say which one that is. Encoding/json, other than check, takes strings
// that are not Unicode, and values that are too deep.
func (p *python) unread(rec record) (readable bool, err error) {
	var o map[string]json.RawMessage
	if err := json.Unmarshal([]byte(rec.text), &o); err != nil {
		_, syntax := errors.AsType[*json.SyntaxError](err)
		return !syntax, nil // without an error of syntax it is no object
	}
	var id string
	if json.Unmarshal(o["session_id"], &id) != nil || id == "" {
		return true, nil
	}
	if strings.ContainsRune(id, utf8.RuneError) {
		return false, nil // put there for what cannot be read
	}
	return true, p.lines.add(sortedLine{session: id, line: rec.line, index: rec.index})
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
	g := group{agent: &l}
	c, err := g.conversation()
	if err != nil {
		return p.report(l.line, l.index, err)
	}
	c.record, c.size = l.text, len(l.text)
	if !p.yield(c, nil) {
		return errStop
	}
	return nil
}

// group reads the lines of one session from m and yields it.
func (p *python) group(m *merger, id string) error {
	var g group
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
		if size += len(l.text); isMessage && (bad || size > p.limit) {
			g.messages = nil
		}
	}
	if bad {
		return nil
	}
	c, err := g.conversation()
	if err != nil {
		at := g.where()
		return p.report(at.line, at.index, fmt.Errorf("session %q is left out: %w", clip(id), err))
	}
	c.size = size
	if int64(len(g.messages)) < g.count {
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
			if isMessage, err = g.add(l); err == nil && isMessage && !yield(g.messages[0], nil) {
				return
			}
		}
		yield(sessionstore.Message{}, err)
	}
}

// group collects what a file has about one session.
type group struct {
	session, agent *sortedLine // the last dictionary of each kind, or nil

	count       int64 // of message dictionaries
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
	m, err := sessionstore.DecodeMessage([]byte(l.text))
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
	if err == nil && g.agent != nil {
		s, err = g.addAgent(s)
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
	return conversation{line: at.line, index: at.index, session: s, messages: inOrder(g.messages), count: g.count}, nil
}

// addAgent adds the history of an agent dictionary, and to s, which is zero without a
// session dictionary, what that does not say.
func (g *group) addAgent(s sessionstore.Session) (sessionstore.Session, error) {
	if g.count > 0 {
		return s, invalid("messages", "the session has message dictionaries and an agent dictionary with messages")
	}
	o, _ := parseObject(g.agent.text)
	a := sessionstore.Session{}
	if rest := o.without("messages"); rest != nil {
		var err error
		if a, err = sessionstore.DecodeSession(rest); err != nil {
			return s, err
		}
	}
	list := o.get("messages")
	if list != "" && !isArray(list) {
		return s, invalid("messages", "is not a list")
	}
	for e := range elements(list) {
		m, err := sessionstore.DecodeMessage([]byte(e))
		if err != nil {
			return s, fmt.Errorf("messages[%d]: %w", g.count, err)
		}
		m.SessionID = "" // the conversation's, whatever it says
		g.count++
		g.saw(m)
		g.messages = append(g.messages, m)
	}
	if g.session == nil {
		return a, nil
	}
	if s.System == "" {
		s.System = a.System
	}
	s.Metadata = joined(a.Metadata, s.Metadata)
	s.Extra = joined(a.Extra, s.Extra)
	return s, nil
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
