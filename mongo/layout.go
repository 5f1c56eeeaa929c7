package mongo

import (
	"crypto/rand"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sessionstore/sessionstore/internal/scope"
)

// format is the version of the layout, of the database and of each session's head. Data
// of a later one is refused, never rewritten.
const format = 1

const (
	headsName  = "sessionstore.sessions"
	blocksName = "sessionstore.blocks"
	metaName   = "sessionstore.meta"
)

// The statuses of a head that is no session's, beside the three that are. Neither has a
// place, so no list finds it.
const (
	// statusGone is that of a session that was deleted, while its blocks are removed.
	statusGone = "gone"

	// statusStaging is that of a session whose blocks are being written by a restore or a
	// fork, or by several of them: each is named in stagers by its gen.
	statusStaging = "staging"
)

// live is the condition on the status of a session.
var live = bson.D{{Key: "$in", Value: []string{"active", "paused", "closed"}}}

// head is the document of a session. The numbers of its tail's messages follow from last
// and n: they are in a row, and the last of them is last. What it does not refer to does
// not exist, whatever lies in the collection of blocks.
type head struct {
	Key     string `bson:"_id"`
	Format  int64  `bson:"format"`
	Space   string `bson:"ns"`
	Gen     string `bson:"gen,omitempty"` // names the incarnation: a new session of the id has another
	Status  string `bson:"status"`
	User    string `bson:"user"`
	Parent  string `bson:"parent"`
	Place   string `bson:"place,omitempty"` // stamp of UpdatedAt and id: the order of lists
	Expires string `bson:"expires"`         // stamp, or never
	TTL     int64  `bson:"ttl"`             // microseconds
	Last    int64  `bson:"last"`
	Count   int64  `bson:"count"`
	Version int64  `bson:"version"`
	Session string `bson:"session"` // JSON; what it leaves out is above

	Epoch int64    `bson:"epoch"` // grows when refs change
	Hi    string   `bson:"hi"`    // no id of a message in a block is greater
	Refs  []ref    `bson:"refs"`
	N     int64    `bson:"n"`    // messages in the tail
	Size  int64    `bson:"size"` // bytes of them
	Tail  []string `bson:"tail"` // JSON
	IDs   []string `bson:"ids"`  // of the tail's messages

	Stagers []string `bson:"stagers,omitempty"`
}

// ref is a head's reference to a block.
type ref struct {
	Block string `bson:"block"`
	First int64  `bson:"first"` // seqs
	Last  int64  `bson:"last"`
	N     int64  `bson:"n"`    // messages
	Size  int64  `bson:"size"` // bytes of them
}

// block is a document of older messages. It never changes, but for check.
type block struct {
	ID      string `bson:"_id"`
	Session string `bson:"session"` // the head's key
	Gen     string `bson:"gen"`
	Space   string `bson:"ns"`

	// Check is when it was made, or was about to be dropped, until a purge an hour later has
	// seen that the head refers to it.
	Check string `bson:"check,omitempty"`

	Seqs     []int64  `bson:"seqs"`
	IDs      []string `bson:"ids"`
	Messages []string `bson:"messages"` // JSON
}

// Projections: the session without its messages, and what a reader of blocks needs.
var (
	withoutMessages = bson.D{{Key: "refs", Value: 0}, {Key: "tail", Value: 0}, {Key: "ids", Value: 0}}
	blockMessages   = bson.D{{Key: "seqs", Value: 1}, {Key: "messages", Value: 1}}
)

// key is the _id of a session's head. Ids and namespaces have no control characters, so
// no two of them meet.
func key(namespace, id string) string {
	if namespace == "" {
		return id
	}
	return namespace + "\n" + id
}

func (s *Store) key(id string) string { return key(s.opts.Namespace, id) }

// newToken returns 16 characters that nothing else has: the name of a block, or of an
// incarnation.
func newToken() string { return rand.Text()[:16] }

// Stamps are times as the server compares them: as text.
const (
	stampLayout = "2006-01-02T15:04:05.000000Z"
	stampWidth  = len(stampLayout)
	never       = "never" // after every stamp
)

// clock reads the store's clock.
func (s *Store) clock() time.Time { return scope.Read(s.opts.Now) }

func stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

func parseStamp(s string) (time.Time, error) {
	t, err := time.Parse(stampLayout, s)
	if err != nil {
		return time.Time{}, errDamaged
	}
	return t, nil
}

// place is a session's place in the lists: the order of sessionstore.SessionKey as text.
func place(updated time.Time, id string) string { return stamp(updated) + " " + id }

// until is the stamp of a session's expiry that was last used at now.
func until(now time.Time, ttl int64) string {
	if ttl == 0 {
		return never
	}
	if e := now.Add(time.Duration(ttl) * time.Microsecond); e.Before(scope.MaxTime) {
		return stamp(e)
	}
	return stamp(scope.MaxTime)
}
