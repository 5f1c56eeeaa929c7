package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/bolt"
)

// openBolt gives each candidate a file of its own.
func openBolt(context.Context, string) (*database, error) {
	d := &database{}
	dir, err := os.MkdirTemp("", "sessionstore-bench-")
	if err != nil {
		return nil, err
	}
	d.onClose(func() error { return os.RemoveAll(dir) })
	file := func(name string) (*bbolt.DB, error) {
		db, err := bbolt.Open(filepath.Join(dir, name), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
		if err != nil {
			return nil, err
		}
		d.onClose(db.Close)
		// All writers at a time, so that a batch is full when all of them wait, and goes at
		// once: the default delay of 10 ms is never waited for.
		db.MaxBatchSize = writers
		return db, nil
	}
	var dbs [3]*bbolt.DB
	for i, name := range []string{"store", "bare", "equal"} {
		if dbs[i], err = file(name); err != nil {
			return d, err
		}
	}
	s, err := bolt.New(dbs[0], nil)
	if err != nil {
		return d, err
	}
	d.onClose(s.Close)
	d.store = ofStore(func() (sessionstore.SessionStore, error) { return s, nil })
	bare, equal := &boltBare{db: dbs[1]}, &boltEqual{db: dbs[2], sessions: map[string]boltState{}}
	d.floors = []candidate{
		{name: "bare", append: bare.append, read: bare.read, list: bare.list},
		{name: "equal", append: equal.append},
	}
	return d, nil
}

// commit returns the way to write: all writers share a Batch, one alone has its Update.
func commit(db *bbolt.DB, w Workload) func(func(*bbolt.Tx) error) error {
	if w.writers > 1 {
		return db.Batch
	}
	return db.Update
}

func bucket(tx *bbolt.Tx, name string) (*bbolt.Bucket, error) {
	b, err := tx.CreateBucketIfNotExists([]byte(name))
	if err == nil {
		b.FillPercent = 0.9
	}
	return b, err
}

func be64(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// boltBare is a bucket of messages, by session and seq.
type boltBare struct {
	db       *bbolt.DB
	sessions int
	seq      int // used within write transactions only
}

// put writes the next message of a session, or the next session.
func (f *boltBare) put(tx *bbolt.Tx, to int, record []byte) error {
	b, err := bucket(tx, "records")
	if err != nil {
		return err
	}
	f.seq++
	return b.Put(append(be64(to), be64(f.seq)...), record)
}

func (f *boltBare) append(_ context.Context, w Workload) (call, error) {
	first := f.sessions
	f.sessions += w.sessions
	for i := range w.sessions {
		if err := f.fill(first+i, w.history); err != nil {
			return nil, err
		}
	}
	write := commit(f.db, w)
	return func(e *entry) error {
		return write(func(tx *bbolt.Tx) error { return f.put(tx, first+e.session, e.record) })
	}, nil
}

func (f *boltBare) fill(to, n int) error {
	_, records, err := messages(n)
	if err != nil {
		return err
	}
	return f.db.Update(func(tx *bbolt.Tx) error {
		for _, record := range records {
			if err := f.put(tx, to, record); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *boltBare) read(_ context.Context, w Workload) (call, error) {
	return func(*entry) error { return readBolt[plainMessage](f.db, w) }, f.fill(0, w.stored)
}

func (f *boltBare) list(_ context.Context, w Workload) (call, error) {
	records, err := sessionRecords(w.stored)
	if err != nil {
		return nil, err
	}
	err = f.db.Update(func(tx *bbolt.Tx) error {
		for _, record := range records {
			if err := f.put(tx, 0, record); err != nil {
				return err
			}
		}
		return nil
	})
	w.newest = true
	return func(*entry) error { return readBolt[plainSession](f.db, w) }, err
}

// readBolt walks over the records with a cursor and decodes them.
func readBolt[T any](db *bbolt.DB, w Workload) error {
	out := make([]T, 0, w.read)
	err := db.View(func(tx *bbolt.Tx) error {
		c := tx.Bucket([]byte("records")).Cursor()
		step := c.Next
		key, record := c.First()
		if w.newest {
			step = c.Prev
			key, record = c.Last()
		}
		for ; key != nil && len(out) < w.read; key, record = step() {
			var err error
			if out, err = decode(out, record); err != nil {
				return err
			}
		}
		return nil
	})
	return counted(len(out), w.read, err)
}

// boltEqual writes what the store writes, in the same layout. Its state is used within
// write transactions only.
type boltEqual struct {
	db       *bbolt.DB
	sessions map[string]boltState
}

type boltState struct {
	seq    int
	record []byte
	at     []byte // its time in the index
}

func (f *boltEqual) put(tx *bbolt.Tx, id, message string, record []byte) error {
	s := f.sessions[id]
	s.seq++
	in, err := bucket(tx, "sessions")
	if err != nil {
		return err
	}
	b, err := in.CreateBucketIfNotExists([]byte(id))
	if err != nil {
		return err
	}
	b.FillPercent = 0.9
	index, err := bucket(tx, "index")
	if err != nil {
		return err
	}
	seq, was := be64(s.seq), s.at
	s.at = be64(int(time.Now().UnixMicro()))
	f.sessions[id] = s
	for _, kv := range [][2][]byte{
		{[]byte("i" + message), seq}, {slices.Concat([]byte("m"), seq), record}, {[]byte("r"), s.record},
	} {
		if err := b.Put(kv[0], kv[1]); err != nil {
			return err
		}
	}
	for _, list := range []string{"a", "u\x04user"} {
		if err := index.Delete([]byte(list + string(was) + id)); err != nil {
			return err
		}
		if err := index.Put([]byte(list+string(s.at)+id), nil); err != nil {
			return err
		}
	}
	return nil
}

func (f *boltEqual) append(_ context.Context, w Workload) (call, error) {
	sessions, err := sessionRecords(w.sessions)
	if err != nil {
		return nil, err
	}
	ids := make([]string, w.sessions)
	for i := range ids {
		ids[i] = fmt.Sprintf("session of the length of an id, %4d", len(f.sessions))
		f.sessions[ids[i]] = boltState{record: sessions[i]}
		msgs, records, err := messages(w.history)
		if err != nil {
			return nil, err
		}
		err = f.db.Update(func(tx *bbolt.Tx) error {
			for j := range msgs {
				if err := f.put(tx, ids[i], msgs[j].ID, records[j]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	write := commit(f.db, w)
	return func(e *entry) error {
		return write(func(tx *bbolt.Tx) error { return f.put(tx, ids[e.session], e.batch[0].ID, e.record) })
	}, nil
}
