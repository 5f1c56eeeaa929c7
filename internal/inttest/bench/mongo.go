package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/mongo"
)

// ferretScale is what is stored on FerretDB, which reads a collection from end to end for
// most queries.
const ferretScale = 0.02

// build is what the server says of itself.
type build struct {
	Version string `bson:"version"`
	Ferret  string `bson:"ferretdbVersion"`
}

func mongoBuild(ctx context.Context, client *driver.Client) (b build, err error) {
	err = client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&b)
	return b, err
}

// mongoScale is less than 1 for FerretDB.
func mongoScale(ctx context.Context, dsn string) (float64, error) {
	client, err := driver.Connect(options.Client().ApplyURI(dsn))
	if err != nil {
		return 0, err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }() // it was only read from
	b, err := mongoBuild(ctx, client)
	if b.Ferret != "" {
		return ferretScale, err
	}
	return 1, err
}

// openMongo makes a database. The floors have the concerns that the store has.
func openMongo(ctx context.Context, dsn string) (*database, error) {
	d := &database{}
	monitor := &event.CommandMonitor{Started: func(context.Context, *event.CommandStartedEvent) { d.trips.Add(1) }}
	client, err := driver.Connect(options.Client().ApplyURI(dsn).SetMaxPoolSize(poolSize).SetMonitor(monitor))
	if err != nil {
		return nil, err
	}
	d.onClose(func() error { return client.Disconnect(context.WithoutCancel(ctx)) })
	b, err := mongoBuild(ctx, client)
	if err != nil {
		return d, err
	}
	d.server = "MongoDB " + b.Version
	if b.Ferret != "" {
		d.server = "FerretDB, as MongoDB " + b.Version
	}
	db := client.Database("bench_" + strings.ToLower(rand.Text()))
	d.onClose(func() error { return db.Drop(context.WithoutCancel(ctx)) })
	s, err := mongo.New(db, nil)
	if err != nil {
		return d, err
	}
	d.onClose(s.Close)
	if err := s.Migrate(ctx); err != nil {
		return d, err
	}
	d.store = ofStore(func() (sessionstore.SessionStore, error) { return s, nil })
	journal := true
	settings := options.Collection().SetReadConcern(readconcern.Majority()).
		SetWriteConcern(&writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journal})
	f := &mongoFloor{db.Collection("floor", settings), new(int)}
	d.floors = []candidate{
		{name: "bare", append: f.bare, read: f.read, list: f.list},
		{name: "equal", append: f.equal},
	}
	return d, nil
}

// tail is how many messages a document of a floor has at most.
const tail = 64

type mongoFloor struct {
	*driver.Collection
	sessions *int
}

// named returns the ids of new sessions.
func (f *mongoFloor) named(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		*f.sessions++
		ids[i] = fmt.Sprintf("session of the length of an id, %4d", *f.sessions)
	}
	return ids
}

// bare is one $push on a small document; a history beforehand would not change that.
func (f *mongoFloor) bare(ctx context.Context, w Workload) (call, error) {
	ids, n := f.named(w.sessions), make([]atomic.Int64, w.sessions)
	upsert := options.UpdateOne().SetUpsert(true)
	return func(e *entry) error {
		id := fmt.Sprintf("%s/%d", ids[e.session], n[e.session].Add(1)/tail)
		_, err := f.UpdateOne(ctx, bson.D{{Key: "_id", Value: id}},
			bson.D{{Key: "$push", Value: bson.D{{Key: "tail", Value: string(e.record)}}}}, upsert)
		return err
	}, nil
}

// equal pushes the message and its id, and moves the session's counters and time. A full
// document is emptied.
func (f *mongoFloor) equal(ctx context.Context, w Workload) (call, error) {
	ids, n := f.named(w.sessions), make([]atomic.Int64, w.sessions)
	upsert := options.UpdateOne().SetUpsert(true)
	return func(e *entry) error {
		message := bson.D{{Key: "id", Value: e.batch[0].ID}, {Key: "role", Value: "user"}, {Key: "body", Value: string(e.record)}}
		update := bson.D{
			{Key: "$inc", Value: bson.D{{Key: "last", Value: int64(1)}, {Key: "count", Value: int64(1)}, {Key: "bytes", Value: int64(len(e.record))}}},
			{Key: "$max", Value: bson.D{{Key: "updated", Value: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")}}},
		}
		if n[e.session].Add(1)%tail == 0 {
			update = append(update, bson.E{Key: "$set", Value: bson.D{{Key: "tail", Value: bson.A{message}}, {Key: "ids", Value: bson.A{e.batch[0].ID}}}})
		} else {
			update = append(update, bson.E{Key: "$push", Value: bson.D{{Key: "tail", Value: message}, {Key: "ids", Value: e.batch[0].ID}}})
		}
		_, err := f.UpdateOne(ctx, bson.D{{Key: "_id", Value: ids[e.session]}}, update, upsert)
		return err
	}, nil
}

// fill inserts documents that have the records as strings, under an owner and in order.
func (f *mongoFloor) fill(ctx context.Context, owner string, records [][]byte) error {
	index := driver.IndexModel{Keys: bson.D{{Key: "owner", Value: 1}, {Key: "at", Value: 1}}}
	if _, err := f.Indexes().CreateOne(ctx, index); err != nil {
		return err
	}
	docs := make([]any, len(records))
	for i, record := range records {
		docs[i] = bson.D{{Key: "_id", Value: fmt.Sprintf("%s/%d", owner, i)}, {Key: "owner", Value: owner}, {Key: "at", Value: int64(i)},
			{Key: "body", Value: string(record)}}
	}
	_, err := f.InsertMany(ctx, docs)
	return err
}

func (f *mongoFloor) read(ctx context.Context, w Workload) (call, error) {
	_, records, err := messages(w.stored)
	if err != nil {
		return nil, err
	}
	owner := f.named(1)[0]
	return func(*entry) error { return readMongo[plainMessage](ctx, f.Collection, w, owner) }, f.fill(ctx, owner, records)
}

func (f *mongoFloor) list(ctx context.Context, w Workload) (call, error) {
	records, err := sessionRecords(w.stored)
	if err != nil {
		return nil, err
	}
	w.newest = true
	return func(*entry) error { return readMongo[plainSession](ctx, f.Collection, w, "user") }, f.fill(ctx, "user", records)
}

// readMongo finds the documents of an owner.
func readMongo[T any](ctx context.Context, c *driver.Collection, w Workload, owner string) error {
	order := 1
	if w.newest {
		order = -1
	}
	// A limit below 0 is one batch, and no cursor to close.
	found, err := c.Find(ctx, bson.D{{Key: "owner", Value: owner}},
		options.Find().SetSort(bson.D{{Key: "at", Value: order}}).SetLimit(int64(-w.read)))
	if err != nil {
		return err
	}
	defer func() { _ = found.Close(ctx) }() // its errors are in Err
	out := make([]T, 0, w.read)
	for found.Next(ctx) {
		body, ok := found.Current.Lookup("body").StringValueOK()
		if !ok {
			return fmt.Errorf("a document has no body: %v", found.Current)
		}
		if out, err = decode(out, []byte(body)); err != nil {
			return err
		}
	}
	return counted(len(out), w.read, found.Err())
}
