package mongoproxy_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"github.com/sessionstore/sessionstore/internal/inttest/mongoproxy"
	"github.com/sessionstore/sessionstore/internal/testenv"
)

// Parts of messages, as the protocol has them.
func number(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }

func document(key string) []byte {
	body := append([]byte{0x10}, key...) // an int32
	body = append(append(append(body, 0), number(1)...), 0)
	return append(number(4+len(body)), body...)
}

func body(key string) []byte { return append([]byte{0}, document(key)...) }

func sequence(name, key string) []byte {
	section := append(append([]byte(name), 0), document(key)...)
	return append(append([]byte{1}, number(4+len(section))...), section...)
}

// message is one with the opcode of OP_MSG.
func message(flags int, sections ...[]byte) []byte { return raw(2013, flags, sections...) }

func raw(opcode, flags int, sections ...[]byte) []byte {
	content := number(flags)
	for _, s := range sections {
		content = append(content, s...)
	}
	m := append(number(16+len(content)), number(7)...)
	m = append(append(m, number(0)...), number(opcode)...)
	return append(m, content...)
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		request []byte
		want    string // the command, or
		fail    string // what the error says
	}{
		{"a body", message(0, body("find")), "find", ""},
		{"a body before a sequence", message(0, body("insert"), sequence("documents", "find")), "insert", ""},
		{"a body after a sequence", message(0, sequence("documents", "find"), body("insert")), "insert", ""},
		{"a checksum", message(1, body("update"), number(0xdead)), "update", ""},
		{"streamed replies allowed", message(1<<16, body("hello")), "hello", ""},
		{"the first message of a driver", raw(2004, 0, []byte("admin.$cmd\x00")), "hello", ""},
		{"no reply wanted", message(2, body("insert")), "", "no reply"},
		{"compressed", raw(2012, 0, body("insert")), "", "opcode 2012"},
		{"no flags", message(0)[:17], "", "without flags"},
		{"a checksum that is cut off", append(message(1), 0, 0), "", "without its checksum"},
		{"no sections", message(0), "", "0 bodies"},
		{"two bodies", message(0, body("find"), body("insert")), "", "2 bodies"},
		{"another kind of section", message(0, body("find"), append([]byte{2}, document("x")...)), "", "kind 2"},
		{"a section that is cut off", message(0, body("find"), []byte{1, 9, 0}), "", "cut off"},
		{"a section that is longer than the message", message(0, []byte{0}, number(99)), "", "99 bytes"},
		{"a section of negative length", message(0, []byte{0}, number(-5)), "", "bytes"},
		{"an empty document", message(0, []byte{0}, number(5), []byte{0}), "", "without a name"},
		{"an empty name", message(0, body("")), "", "without a name"},
		{"a name that does not end", message(0, []byte{0}, number(7), []byte{0x10, 'a', 'b'}), "", "without a name"},
	} {
		got, err := mongoproxy.Command(tt.request)
		switch {
		case tt.fail == "" && (err != nil || got != tt.want):
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		case tt.fail != "" && (err == nil || !strings.Contains(err.Error(), tt.fail)):
			t.Errorf("%s: got %q, %v, want an error with %q", tt.name, got, err, tt.fail)
		}
	}
}

func FuzzCommand(f *testing.F) {
	f.Add(message(0, sequence("documents", "find"), body("insert")))
	f.Add(message(1, body("update"), number(0)))
	f.Fuzz(func(t *testing.T, request []byte) {
		if len(request) < 16 {
			return // a message has its header
		}
		name, err := mongoproxy.Command(request)
		if (name == "") != (err != nil) {
			t.Errorf("got %q, %v, want a name or an error", name, err)
		}
	})
}

// server answers a request when the test says so.
type server struct {
	net.Listener
	requests chan request
}

type request struct {
	message []byte
	conn    net.Conn
}

func (r request) reply(flags int) { r.conn.Write(message(flags, body("ok"))) }

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{listen(t), make(chan request)}
	go func() {
		for {
			conn, err := s.Accept()
			if err != nil {
				return
			}
			go func() {
				for {
					m, err := receive(conn)
					if err != nil {
						conn.Close()
						return
					}
					s.requests <- request{m, conn}
				}
			}()
		}
	}()
	return s
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("Listen: got %v, want nil", err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func receive(r io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	rest := make([]byte, int(binary.LittleEndian.Uint32(head))-len(head))
	_, err := io.ReadFull(r, rest)
	return append(head, rest...), err
}

// serve runs a proxy before the server as long as the test, and returns how to connect.
func serve(t *testing.T, server string) (dial func() net.Conn) {
	t.Helper()
	l := listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- (&mongoproxy.Proxy{Server: server}).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: got %v, want nil", err)
		}
	})
	return func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatalf("Dial: got %v, want nil", err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
}

// TestOneWrite: while one write is with the server, reads are passed to it and writes are
// not, even if the client of the first is gone.
func TestOneWrite(t *testing.T) {
	s := newServer(t)
	dial := serve(t, s.Addr().String())
	first := dial()
	first.Write(message(0, body("insert")))
	insert := <-s.requests
	first.Close()

	dial().Write(message(0, body("update")))
	reader := dial()
	for range 10 {
		reader.Write(message(0, body("find")))
		r := <-s.requests
		if got, _ := mongoproxy.Command(r.message); got != "find" {
			t.Fatalf("while a write is with the server: got %s, want find", got)
		}
		r.reply(0)
		if _, err := receive(reader); err != nil {
			t.Fatalf("the reply to find: got %v, want nil", err)
		}
	}
	insert.reply(0)
	if got, _ := mongoproxy.Command((<-s.requests).message); got != "update" {
		t.Errorf("after the first write: got %s, want the second", got)
	}
}

// TestGiveUp: a connection that uses what the proxy does not know is closed, and others
// go on.
func TestGiveUp(t *testing.T) {
	s := newServer(t)
	dial := serve(t, s.Addr().String())
	for _, tt := range []struct {
		name    string
		request []byte
		flags   int // of the reply, if the request gets as far
	}{
		{"a write that wants no reply", message(2, body("insert")), -1},
		{"a message that is shorter than its header", number(8), -1},
		{"a message that is too long", number(1 << 30), -1},
		{"a reply in several messages", message(0, body("insert")), 2},
	} {
		c := dial()
		c.Write(append(tt.request, make([]byte, max(0, 16-len(tt.request)))...))
		if tt.flags >= 0 {
			(<-s.requests).reply(tt.flags)
		}
		if m, err := receive(c); err == nil {
			t.Errorf("%s: got a reply of %d bytes, want the end of the connection", tt.name, len(m))
		}
	}
	c := dial()
	c.Write(message(0, body("insert")))
	(<-s.requests).reply(0)
	if _, err := receive(c); err != nil {
		t.Errorf("another connection: got %v, want a reply", err)
	}
}

// TestNothingLeft: when Serve returns, no goroutine of it is left, nor a connection.
func TestNothingLeft(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("serve", func(t *testing.T) {
		s := newServer(t)
		dial := serve(t, s.Addr().String())
		dial()
		dial().Write(message(0, body("insert")))
		<-s.requests
	})
}

// TestAtomic: updates of one document from many connections are all kept, as MongoDB
// promises, and as FerretDB does only behind a proxy.
func TestAtomic(t *testing.T) {
	uri := testenv.Mongo(t)
	const clients, each = 16, 25
	collection := func(name string) *mongo.Collection {
		client, err := mongo.Connect(options.Client().ApplyURI(uri))
		if err != nil {
			t.Fatalf("Connect: got %v, want nil", err)
		}
		t.Cleanup(func() { client.Disconnect(context.Background()) })
		return client.Database("mongoproxy_test").Collection(name)
	}
	t.Cleanup(func() { collection("").Database().Drop(context.Background()) })
	var wg sync.WaitGroup
	for range clients {
		c := collection("atomic")
		wg.Go(func() {
			for range each {
				_, err := c.UpdateByID(t.Context(), "x", bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: 1}}}},
					options.UpdateOne().SetUpsert(true))
				if err != nil {
					t.Errorf("UpdateByID: got %v, want nil", err)
					return
				}
			}
		})
	}
	wg.Wait()
	var got struct{ N int }
	if err := collection("atomic").FindOne(t.Context(), bson.D{}).Decode(&got); err != nil || got.N != clients*each {
		t.Errorf("after %d times $inc: got %d, %v", clients*each, got.N, err)
	}
	// A driver sends documents apart from the command that inserts them.
	var docs []any
	for i := range 1000 {
		docs = append(docs, bson.D{{Key: "_id", Value: fmt.Sprint(i)}, {Key: "text", Value: fmt.Sprint("insert ", i)}})
	}
	many := collection("many")
	if _, err := many.InsertMany(t.Context(), docs); err != nil {
		t.Fatalf("InsertMany: got %v, want nil", err)
	}
	if n, err := many.CountDocuments(t.Context(), bson.D{}); err != nil || n != int64(len(docs)) {
		t.Errorf("CountDocuments: got %d, %v, want %d", n, err, len(docs))
	}
}
