package mongo_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/mongo"
)

const record = `{"message_id":"m00000","session_id":"","role":"user","content":"text 0","tool_call_id":null,"agent_name":null,` +
	`"created_at":"2040-01-01T00:00:01.000000+00:00","metadata":{}}`

// TestLayout pins what lies in the server: other versions of this package read it.
func TestLayout(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "name space", nil)
	f.create(t, sessionstore.Session{
		ID: "$a.b", AgentName: "agent", UserID: "user", System: "be brief", TTL: time.Hour, ParentID: "parent", ForkSeq: 3,
		Metadata: sessionstore.Metadata{"$k.": "v"}, // field report S28: keys that MongoDB refuses
	})
	f.now = f.now.Add(time.Second)
	say(t, f, "$a.b", "m", 1)
	got := f.all(t, "sessions")
	if len(got) != 1 || len(f.all(t, "blocks")) != 0 {
		t.Fatalf("documents of a session with one message: got %d and %d blocks, want 1 and none", len(got), len(f.all(t, "blocks")))
	}
	head := got[0]
	if gen, ok := head["gen"].(string); !ok || len(gen) != 16 {
		t.Errorf("gen: got %v, want 16 characters", head["gen"])
	}
	delete(head, "gen")
	want := bson.M{
		"_id": "name space\n$a.b", "format": int64(1), "ns": "name space", "status": "active", "user": "user", "parent": "parent",
		"place": "2040-01-01T00:00:01.000000Z $a.b", "expires": "2040-01-01T01:00:01.000000Z", "ttl": int64(3_600_000_000),
		"last": int64(1), "count": int64(1), "version": int64(1),
		"session": `{"session_id":"$a.b","agent_name":"agent","user_id":"user","status":"active","system":"be brief","metadata":{"$k.":"v"},` +
			`"ttl_seconds":3600,"parent_id":"parent","fork_seq":3,"created_at":"2040-01-01T00:00:00.000000+00:00","updated_at":null}`,
		"epoch": int64(0), "hi": "", "refs": bson.A{}, "n": int64(1), "size": int64(len(record)), "tail": bson.A{record}, "ids": bson.A{"m00000"},
	}
	for k, v := range want {
		if !reflect.DeepEqual(head[k], v) {
			t.Errorf("field %s\n  got:  %#v\n  want: %#v", k, head[k], v)
		}
		delete(head, k)
	}
	if len(head) > 0 {
		t.Errorf("further fields: got %v, want none", head)
	}
}

func TestLayoutOfBlocks(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	f.now = f.now.Add(time.Second)
	f.create(t, sessionstore.Session{ID: "s"})
	say(t, f, "s", "m", 100)
	head := f.all(t, "sessions")[0]
	blocks := f.all(t, "blocks")
	if len(blocks) != 1 {
		t.Fatalf("blocks of 100 messages: got %d, want 1", len(blocks))
	}
	b := blocks[0]
	size := int64(0)
	messages, ids, numbers := b["messages"].(bson.A), b["ids"].(bson.A), b["seqs"].(bson.A)
	for i := range messages {
		size += int64(len(messages[i].(string)))
		if numbers[i] != int64(i+1) || ids[i] != fmt.Sprintf("m%05d", i) {
			t.Errorf("message %d of the block: got seq %v, id %v", i, numbers[i], ids[i])
		}
	}
	if len(messages) != 68 || messages[0] != record {
		t.Errorf("messages of the block: got %d that begin with %v\nwant 68 that begin with %s", len(messages), messages[0], record)
	}
	for k, want := range (bson.M{"session": "s", "gen": head["gen"], "ns": "", "check": "2040-01-01T00:00:01.000000Z"}) {
		if b[k] != want {
			t.Errorf("field %s of the block: got %v, want %v", k, b[k], want)
		}
	}
	ref := bson.D{{Key: "block", Value: b["_id"]}, {Key: "first", Value: int64(1)}, {Key: "last", Value: int64(68)}, {Key: "n", Value: int64(68)}, {Key: "size", Value: size}}
	if got := head["refs"]; !reflect.DeepEqual(got, bson.A{ref}) {
		t.Errorf("refs: got %v, want %v", got, ref)
	}
	for k, want := range (bson.M{"_id": "s", "epoch": int64(1), "hi": "m00067", "n": int64(32), "last": int64(100), "count": int64(100)}) {
		if head[k] != want {
			t.Errorf("field %s of the head: got %v, want %v", k, head[k], want)
		}
	}
	if tail, ids := head["tail"].(bson.A), head["ids"].(bson.A); len(tail) != 32 || len(ids) != 32 || ids[0] != "m00068" {
		t.Errorf("the tail: got %d messages, ids %v; want 32 from m00068", len(tail), ids)
	}
	// A block is looked at by one purge, and settled.
	f.now = f.now.Add(2 * time.Hour)
	if n, err := f.PurgeExpired(t.Context(), 0); n != 0 || err != nil {
		t.Fatalf("PurgeExpired: got %d, %v; want 0", n, err)
	}
	if b := f.all(t, "blocks"); len(b) != 1 || b[0]["check"] != nil {
		t.Errorf("the block after a purge: got %d, check %v; want 1 without", len(b), b[0]["check"])
	}
	if got := seqs(history(t, f, "s")); len(got) != 100 {
		t.Errorf("the history after a purge: got %d messages, want 100", len(got))
	}
}

// TestNothingLeft is field report S24: what a deleted or expired session leaves behind.
func TestNothingLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ns", nil)
	ctx := t.Context()
	f.create(t, sessionstore.Session{ID: "s", UserID: "user", TTL: time.Hour})
	say(t, f, "s", "m", 400)
	if _, err := f.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: 300}); err != nil {
		t.Fatalf("TruncateMessages: got %v, want nil", err)
	}
	if got := f.loose(t); len(got) > 0 {
		t.Errorf("after a truncate: got %q, want nothing that is no session's", got)
	}
	made := []string{"s"}
	for i, at := range []int64{0, 3, 96, 250, 300, 400} {
		id := fmt.Sprint("fork ", i)
		if _, err := f.ForkSession(ctx, "s", sessionstore.Fork{ID: id, AtSeq: &at}); err != nil {
			t.Fatalf("ForkSession at %d: got %v, want nil", at, err)
		}
		if got, want := int64(len(history(t, f, id))), min(at, 300); got != want {
			t.Errorf("a fork at %d: got %d messages, want %d", at, got, want)
		}
		made = append(made, id)
	}
	for _, id := range made[:3] {
		if err := f.DeleteSession(ctx, id); err != nil {
			t.Fatalf("DeleteSession(%q): got %v, want nil", id, err)
		}
		for _, collection := range []string{"sessions", "blocks"} {
			for _, d := range f.all(t, collection) {
				if d["_id"] == "ns\n"+id || d["session"] == "ns\n"+id {
					t.Errorf("after DeleteSession(%q): got the document %v in %s, want none", id, d["_id"], collection)
				}
			}
		}
	}
	f.now = f.now.Add(time.Hour)
	f.create(t, sessionstore.Session{ID: "fork 3"}) // over one that has expired
	if got := f.loose(t); len(got) > 0 {
		t.Errorf("after a create over an expired session: got %q, want nothing that is no session's", got)
	}
	if n, err := f.PurgeExpired(ctx, 0); err != nil || n != 3 {
		t.Errorf("PurgeExpired: got %d, %v; want 3", n, err)
	}
	if err := f.DeleteSession(ctx, "fork 3"); err != nil {
		t.Fatalf("DeleteSession: got %v, want nil", err)
	}
	if heads, blocks := f.all(t, "sessions"), f.all(t, "blocks"); len(heads)+len(blocks) > 0 {
		t.Errorf("what is left: got %v and %v, want nothing", heads, blocks)
	}
}

// TestManyTruncates is an editor that goes back again and again: small blocks are joined.
func TestManyTruncates(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	f.create(t, sessionstore.Session{ID: "s"})
	last := int64(0)
	for i := range 60 {
		say(t, f, "s", fmt.Sprint("m", i), 3)
		last += 3
		if _, err := f.TruncateMessages(t.Context(), "s", sessionstore.Truncate{ThroughSeq: last - 1}); err != nil {
			t.Fatalf("TruncateMessages: got %v, want nil", err)
		}
	}
	if got := len(history(t, f, "s")); got != 120 {
		t.Errorf("60 times 3 messages without the last: got %d, want 120", got)
	}
	if got := len(f.all(t, "blocks")); got > 4 {
		t.Errorf("blocks of 120 messages after 60 truncates: got %d, want at most 4", got)
	}
}

// TestForeignIDs appends messages whose ids do not grow: they are looked for in the blocks,
// and found.
func TestForeignIDs(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	ctx := t.Context()
	f.create(t, sessionstore.Session{ID: "s"})
	say(t, f, "s", "z", 200)
	say(t, f, "s", "a", 100)
	before := history(t, f, "s")
	for _, a := range []sessionstore.Append{batch("z", 150), batch("a", 100), {Messages: batch("z", 200).Messages[30:31]}} {
		got, err := f.AppendMessages(ctx, "s", a)
		if err != nil || len(got) != len(a.Messages) {
			t.Fatalf("a repeat of %d messages from %s: got %d, %v; want as many", len(a.Messages), a.Messages[0].ID, len(got), err)
		}
		for i, m := range got {
			if !slices.ContainsFunc(before, func(b sessionstore.Message) bool { return reflect.DeepEqual(b, m) }) {
				t.Errorf("message %d of a repeat: got %v, want what is stored", i, m)
			}
		}
	}
	mixed := batch("z", 3)
	mixed.Messages[1].ID = "new"
	other := batch("z", 1)
	other.Messages[0].Content = sessionstore.Text("another")
	for name, a := range map[string]sessionstore.Append{"one new id among stored ones": mixed, "another text": other} {
		if _, err := f.AppendMessages(ctx, "s", a); !errors.Is(err, sessionstore.ErrMessageExists) {
			t.Errorf("%s: got %v, want ErrMessageExists", name, err)
		}
	}
	if _, err := f.TruncateMessages(ctx, "s", sessionstore.Truncate{ThroughSeq: 100}); err != nil {
		t.Fatalf("TruncateMessages: got %v, want nil", err)
	}
	free := sessionstore.Append{Messages: other.Messages}
	free.Messages[0].ID = "z00150"
	if got, err := f.AppendMessages(ctx, "s", free); err != nil || got[0].Seq != 301 {
		t.Errorf("an id that a truncate has freed: got %v, %v; want seq 301", got, err)
	}
}

// TestBoundedDocuments fills a session with what a call may hold, again and again.
func TestBoundedDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	f.create(t, sessionstore.Session{ID: "s", System: strings.Repeat("s", sessionstore.MaxStateBytes-100)})
	m := sessionstore.UserMessage(strings.Repeat("x", sessionstore.MaxAppendBytes-1000))
	for i := range 3 {
		m.ID = fmt.Sprint("m", i)
		if _, err := f.AppendMessages(t.Context(), "s", sessionstore.Append{Messages: []sessionstore.Message{m}}); err != nil {
			t.Fatalf("AppendMessages of 8 MiB: got %v, want nil", err)
		}
	}
	for _, c := range []string{"sessions", "blocks"} {
		for _, d := range f.all(t, c) {
			raw, err := bson.Marshal(d)
			if err != nil {
				t.Fatalf("Marshal: got %v, want nil", err)
			}
			if len(raw) > 9<<20 {
				t.Errorf("document %v: got %d bytes, want at most 9 MiB", d["_id"], len(raw))
			}
		}
	}
	page, err := f.ListMessages(t.Context(), "s", sessionstore.MessageQuery{Newest: true, Limit: 1})
	if err != nil || len(page.Messages) != 1 || page.Messages[0].ID != "m2" || !page.HasMore {
		t.Errorf("the newest of three: got %d, HasMore %v, %v", len(page.Messages), page.HasMore, err)
	}
}

// TestMigrateAtOnce is field report O04: processes that all start on an empty database.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	if err := f.db.Drop(t.Context()); err != nil {
		t.Fatalf("Drop: got %v, want nil", err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := f.Migrate(t.Context()); err != nil {
				t.Errorf("Migrate: got %v, want nil", err)
			}
		})
	}
	wg.Wait()
	if got := f.all(t, "meta"); len(got) != 1 || got[0]["format"] != int64(1) {
		t.Errorf("the format: got %v, want one document with 1", got)
	}
	for collection, want := range map[string]int{"sessions": 5, "blocks": 3} {
		specs, err := f.db.Collection("sessionstore." + collection).Indexes().ListSpecifications(t.Context())
		if err != nil || len(specs) != want {
			t.Errorf("indexes of %s: got %d, %v; want %d", collection, len(specs), err, want)
		}
	}
}

// TestNewer is field report O05: data of a later version is refused, and stays as it is.
func TestNewer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", nil)
	ctx := t.Context()
	f.create(t, sessionstore.Session{ID: "s", TTL: time.Hour})
	heads := f.db.Collection("sessionstore.sessions")
	if _, err := heads.UpdateOne(ctx, bson.D{{Key: "_id", Value: "s"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "format", Value: 2}}}}); err != nil {
		t.Fatalf("UpdateOne: got %v, want nil", err)
	}
	before := f.all(t, "sessions")
	for name, call := range testenv.Calls(f.Store) {
		if err := call(ctx); !errors.Is(err, sessionstore.ErrSchemaTooNew) {
			t.Errorf("%s with a session of format 2: got %v, want ErrSchemaTooNew", name, err)
		}
	}
	f.now = f.now.Add(2 * time.Hour)
	if n, err := f.PurgeExpired(ctx, 0); n != 0 || err != nil {
		t.Errorf("PurgeExpired: got %d, %v; want 0", n, err)
	}
	if got := f.all(t, "sessions"); !reflect.DeepEqual(got, before) {
		t.Errorf("the session of format 2\n  got:  %v\n  want: %v", got, before)
	}
	meta := f.db.Collection("sessionstore.meta")
	if _, err := meta.UpdateOne(ctx, bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "format", Value: 2}}}}); err != nil {
		t.Fatalf("UpdateOne: got %v, want nil", err)
	}
	if err := f.Migrate(ctx); !errors.Is(err, sessionstore.ErrSchemaTooNew) {
		t.Errorf("Migrate of a database of format 2: got %v, want ErrSchemaTooNew", err)
	}
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "shown", nil)
	if _, err := mongo.New(nil, nil); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("New without a database: got %v, want ErrInvalid", err)
	}
	if _, err := mongo.New(f.db, &mongo.Options{Namespace: "a\nb"}); !errors.Is(err, sessionstore.ErrInvalid) {
		t.Errorf("New with a control character in the namespace: got %v, want ErrInvalid", err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, f.Store); got != `mongo store "shown"` {
			t.Errorf("a store with %s: got %s, want its namespace only", verb, got)
		}
	}
}
