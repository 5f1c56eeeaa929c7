package mongoproxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The parts of MongoDB's wire protocol that a driver without compression uses:
// https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
const (
	headerSize = 16 // length, request id, id that it replies to, opcode: 4 bytes each

	// opQuery is a driver's first message, before it knows whether the server has opMsg.
	// Its reply is an opReply.
	opQuery = 2004
	opReply = 1
	opMsg   = 2013

	flagChecksum   = 1 << 0 // 4 bytes follow the sections
	flagMoreToCome = 1 << 1 // in a request: no reply is wanted; in a reply: it is not the last

	sectionBody     = 0 // one document: the command
	sectionSequence = 1 // its length, a name, documents: a long argument of the command

	// maxMessage is what a server takes: its maxMessageSizeBytes.
	maxMessage = 48_000_000
)

// message is one message, header included.
type message []byte

// read replaces m by the next message. Its error is io.EOF if there is none.
func (m *message) read(r io.Reader) error {
	buf := (*m)[:0]
	buf = append(buf, make([]byte, headerSize)...)
	if _, err := io.ReadFull(r, buf); err != nil {
		return err
	}
	n := int64(int32(binary.LittleEndian.Uint32(buf)))
	if n < headerSize || n > maxMessage {
		return fmt.Errorf("a message of %d bytes", n)
	}
	// Grown while it is read: a length alone is no reason to take memory.
	body := bytes.NewBuffer(buf)
	if _, err := io.CopyN(body, r, n-headerSize); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	*m = body.Bytes()
	return nil
}

func (m message) opcode() uint32 { return binary.LittleEndian.Uint32(m[12:]) }

// sections returns what lies between an opMsg's flags and its checksum.
func (m message) sections() (flags uint32, sections []byte, err error) {
	body := m[headerSize:]
	if len(body) < 4 {
		return 0, nil, errors.New("an OP_MSG without flags")
	}
	flags, sections = binary.LittleEndian.Uint32(body), body[4:]
	if flags&flagChecksum != 0 {
		if len(sections) < 4 {
			return 0, nil, errors.New("an OP_MSG without its checksum")
		}
		sections = sections[:len(sections)-4]
	}
	return flags, sections, nil
}

// command returns the name of a request's command: the first key of its body, which need
// not be its first section.
func (m message) command() (string, error) {
	switch m.opcode() {
	case opQuery:
		return "hello", nil // all that is left for it
	case opMsg:
	default:
		return "", fmt.Errorf("a request with opcode %d", m.opcode())
	}
	flags, rest, err := m.sections()
	if err != nil {
		return "", err
	}
	if flags&flagMoreToCome != 0 {
		return "", errors.New("a request that wants no reply")
	}
	var name string
	bodies := 0
	for len(rest) > 0 {
		kind := rest[0]
		section, after, err := cut(rest[1:])
		if err != nil {
			return "", err
		}
		rest = after
		switch kind {
		case sectionBody:
			bodies++
			if name, err = firstKey(section); err != nil {
				return "", err
			}
		case sectionSequence:
		default:
			return "", fmt.Errorf("a section of kind %d", kind)
		}
	}
	if bodies != 1 {
		return "", fmt.Errorf("a request with %d bodies", bodies)
	}
	return name, nil
}

// cut takes a part off that begins with its own length, as documents and sequences do.
func cut(b []byte) (part, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errors.New("a section that is cut off")
	}
	n := int64(int32(binary.LittleEndian.Uint32(b)))
	if n < 5 || n > int64(len(b)) {
		return nil, nil, fmt.Errorf("a section of %d bytes in %d", n, len(b))
	}
	return b[:n], b[n:], nil
}

// firstKey returns the first key of a document: after its length, a byte for the type and
// a string that ends with a zero.
func firstKey(document []byte) (string, error) {
	const head = 4 + 1
	key, _, ok := bytes.Cut(document[head:], []byte{0})
	if !ok || len(key) == 0 || document[4] == 0 {
		return "", errors.New("a command without a name")
	}
	return string(key), nil
}

// single returns an error if m is not the whole reply.
func (m message) single() error {
	switch m.opcode() {
	case opReply:
		return nil
	case opMsg:
		flags, _, err := m.sections()
		if err == nil && flags&flagMoreToCome != 0 {
			err = errors.New("a reply in several messages")
		}
		return err
	}
	return fmt.Errorf("a reply with opcode %d", m.opcode())
}
