package formats

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// decodeLangChainFile reads conversations of LangChain. A record is one of
//
//   - a list of message dictionaries, or {"messages": […]}: a conversation;
//   - a message dictionary alone, on a line of its own: a conversation of one message;
//   - a row of a history that LangChain keeps elsewhere. Rows of one session are one
//     conversation, in the order of the file, under the session's id.
//
// The rows are those of MongoDB ({"SessionId", "History"}), of SQL ({"session_id",
// "message"}), and of Redis, one list a row ({"key", "value": […]}, its members strings or
// dictionaries, or an object whose only keys are such lists). LangChain pushes to the head
// of its lists in Redis, so that they are dumped newest first: a list of Redis is read from
// its end. A dictionary in a row may be an object or the string of one.
//
// As rows may stand anywhere, they are written when the file has been read. A bad row keeps
// its session out; one that names no session is reported.
func decodeLangChainFile(ctx context.Context, r io.Reader, o *Options) iter.Seq2[conversation, error] {
	return func(yield func(conversation, error) bool) {
		d := langChainFile{
			rows:  sorter{limit: sortInMemory, dir: o.TempDir},
			spool: spool{dir: o.TempDir},
			yield: yield,
		}
		defer d.rows.close()
		defer d.spool.close()
		var failed error
		err := readRecords(r, isLangChainMessage, func(rec record) bool {
			if failed = ctx.Err(); failed == nil {
				failed = d.record(rec)
			}
			return failed == nil
		})
		// What was read before the file broke is imported, as it is of other formats.
		if _, broken := errors.AsType[*SyntaxError](err); failed == nil && (err == nil || broken) {
			failed = d.sessions(ctx)
		}
		if err = cmp.Or(failed, err); err != nil && !errors.Is(err, errStop) {
			yield(conversation{}, err)
		}
	}
}

type langChainFile struct {
	rows  sorter
	spool spool
	yield func(conversation, error) bool
}

// report returns errStop if nobody listens any more.
func (d *langChainFile) report(line, index int64, err error) error {
	if !d.yield(conversation{}, RecordError{Line: line, Index: index, Err: err}) {
		return errStop
	}
	return nil
}

// record takes a record; the error ends the import.
func (d *langChainFile) record(rec record) error {
	if rec.err != nil {
		return cmp.Or(d.unread(rec), d.report(rec.line, rec.index, rec.err))
	}
	o, ok := parseObject(rec.text)
	if ok {
		rows, err := rowsOf(o)
		if err != nil {
			return d.report(rec.line, rec.index, err)
		}
		for _, row := range rows {
			row.line, row.index = rec.line, rec.index
			if err := d.rows.add(row); err != nil {
				return err
			}
		}
		if rows != nil {
			return nil
		}
	}
	c, err := decoder(decodeLangChain).run(rec.text, &d.spool)
	if d.spool.err != nil {
		return d.spool.err
	}
	if err != nil {
		return d.report(rec.line, rec.index, err)
	}
	c.line, c.index = rec.line, rec.index
	if !d.yield(c, nil) {
		return errStop
	}
	return nil
}

// sessionKeys are the names of a row's session, and of what a row has of it.
var sessionKeys = [][2]string{{"SessionId", "History"}, {"session_id", "message"}}

// unread keeps the session out of a record that check refused, if that names one.
func (d *langChainFile) unread(rec record) error {
	var o map[string]json.RawMessage
	if json.Unmarshal(bytesOf(rec.text), &o) != nil {
		return nil
	}
	for _, k := range sessionKeys {
		var id string
		// The rune stands for bytes that cannot be read.
		if json.Unmarshal(o[k[0]], &id) == nil && id != "" && !strings.ContainsRune(id, utf8.RuneError) {
			return d.rows.add(sortedLine{session: id, line: rec.line, index: rec.index})
		}
	}
	return nil
}

// rowsOf returns the rows that a record is, or nil if it is none.
func rowsOf(o object) ([]sortedLine, error) {
	for _, k := range sessionKeys {
		if !o.has(k[0]) || !o.has(k[1]) {
			continue
		}
		id, ok := o.text(k[0])
		if !ok || id == "" {
			return nil, invalid(k[0], "is missing or not a string")
		}
		if isArray(o.get(k[1])) { // which would be taken for a list of Redis
			return nil, invalid(k[1], "is not a message")
		}
		return []sortedLine{{session: id, text: cmp.Or(o.get(k[1]), "null")}}, nil
	}
	if o.has("key") && o.has("value") {
		key, ok := o.text("key")
		if !ok || key == "" {
			return nil, invalid("key", "is missing or not a string")
		}
		o = object{{key, o.get("value")}}
	} else if !slices.ContainsFunc(o, func(m member) bool { return strings.HasPrefix(m.key, redisPrefix) }) {
		return nil, nil
	}
	var rows []sortedLine
	for _, m := range o {
		if !isArray(m.value) {
			return nil, invalid(m.key, "is not a list")
		}
		id := strings.TrimPrefix(m.key, redisPrefix)
		if id == "" {
			return nil, invalid("key", "names no session")
		}
		rows = append(rows, sortedLine{session: id, text: m.value})
	}
	return rows, nil
}

// redisPrefix is what LangChain puts before a session's id by default.
const redisPrefix = "message_store:"

// sessions yields the conversations of the rows, in the order of their sessions' ids.
func (d *langChainFile) sessions(ctx context.Context) error {
	places, err := d.rows.finish()
	if err != nil {
		return err
	}
	m, err := d.rows.merge(places)
	if err != nil {
		return err
	}
	for {
		id, ok := m.session()
		if !ok {
			return nil
		}
		if err := cmp.Or(ctx.Err(), d.session(m, id)); err != nil {
			return err
		}
	}
}

// session reads the rows of one session from m and yields it.
func (d *langChainFile) session(m *merger, id string) error {
	d.spool.start(0) // how much there is shows as it is read
	b := builder{sink: d.spool.add}
	b.session.ID = id
	reader := langChain{&b}
	var first sortedLine
	bad, size := false, 0
	for n := 0; ; n++ {
		if next, ok := m.session(); !ok || next != id {
			break
		}
		l, err := m.next()
		if err != nil {
			return err
		}
		if n == 0 {
			first = sortedLine{line: l.line, index: l.index}
		}
		if bad = bad || l.text == ""; bad { // see unread; it was reported
			continue
		}
		if size += len(l.text); size > maxWriteBytes {
			err = d.spool.enlarge()
		}
		if err = cmp.Or(err, reader.row(l.text)); err != nil {
			if d.spool.err != nil {
				return d.spool.err
			}
			bad = true
			if err := d.report(l.line, l.index, fmt.Errorf("session %q is left out: %w", clip(id), err)); err != nil {
				return err
			}
		}
	}
	if bad {
		return nil
	}
	if err := b.flush(); err != nil {
		if d.spool.err != nil {
			return d.spool.err
		}
		return d.report(first.line, first.index, err)
	}
	messages, err := d.spool.all()
	if err != nil {
		return err
	}
	c := conversation{line: first.line, index: first.index, session: b.session, messages: messages, count: b.count, size: size}
	if !d.yield(c, nil) {
		return errStop
	}
	return nil
}

// row reads what a row has: a message, or a list of Redis.
func (d langChain) row(text string) error {
	if !isArray(text) {
		return d.message(text)
	}
	list := slices.Collect(elements(text))
	for i, e := range slices.Backward(list) {
		if err := d.message(e); err != nil {
			return fmt.Errorf("value[%d]: %w", i, err)
		}
	}
	return nil
}
