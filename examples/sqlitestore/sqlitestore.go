// Package sqlitestore keeps sessions in a SQLite file: a whole store as somebody outside
// of this module would write it, with nothing but what package sessionstore exports. Read
// schema.sql, then run, the frame of every method, then methods.go, and the README.
package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"time"

	"github.com/sessionstore/sessionstore"
	"modernc.org/sqlite"
)

//go:embed schema.sql
var schema string

const schemaVersion, busy = 1, 5 // the file's user_version; SQLITE_BUSY

// Options are the settings of a store. The zero value is ready to use.
type Options struct {
	Now       func() time.Time // the store's clock; nil: time.Now. It must not call the store.
	Namespace string           // separates applications in one file; empty, or as an id
}

// Store is a [sessionstore.SessionStore] in a SQLite file. Any number of goroutines may
// use it, and any number of stores and processes the file.
type Store struct {
	guard   sessionstore.Guard
	options Options
	reader  *sql.DB
	writer  *sql.DB // has one connection: writers wait for it in line, each under its context
}

// Open opens or makes the file. While another has it locked, Open waits, until ctx is done.
// Errors: ErrInvalid, ErrSchemaTooNew, and the driver's.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	s := &Store{options: *cmp.Or(o, &Options{})}
	if s.options.Now == nil {
		s.options.Now = time.Now
	}
	c, bad := sqlite.NewConnector("file:" + url.PathEscape(path) + "?" + url.Values{
		"_txlock":       {"immediate"}, // a write has its lock before it reads
		"_busy_timeout": {"60000"},     // ms to wait for another process; a context ends it sooner
		"_journal_mode": {"WAL"},       // a read has a snapshot, and waits for no write
		"_synchronous":  {"FULL"},      // what was committed is on the disk
		"_foreign_keys": {"on"},
	}.Encode())
	if bad = cmp.Or(bad, sessionstore.CheckID(cmp.Or(s.options.Namespace, "none"))); path == "" || path == ":memory:" {
		bad = &sessionstore.InvalidError{Field: "path", Reason: "must be that of a file"}
	}
	s.reader, s.writer = sql.OpenDB(c), sql.OpenDB(c)
	s.reader.SetMaxOpenConns(8)
	s.reader.SetMaxIdleConns(8)
	s.writer.SetMaxOpenConns(1)
	// SQLite gives up at once if another is switching the file to WAL: then ask again.
	for again := time.Tick(5 * time.Millisecond); ; <-again {
		_, err := run(ctx, s, s.writer, "open "+path, bad, migrate)
		if err == nil {
			return s, nil
		}
		if e, ok := errors.AsType[*sqlite.Error](err); !ok || e.Code()&0xff != busy {
			return nil, errors.Join(err, s.Close())
		}
	}
}

func migrate(tx *step) (struct{}, error) {
	switch found := tx.number(`PRAGMA user_version`); {
	case found > schemaVersion:
		return struct{}{}, fmt.Errorf("schema %d: %w", found, sessionstore.ErrSchemaTooNew)
	case found < schemaVersion:
		tx.exec(schema)
	}
	return struct{}{}, nil
}

// Close waits for the calls in flight and closes the file.
func (s *Store) Close() error {
	if first := s.guard.Close(); !first {
		return nil
	}
	return errors.Join(s.reader.Close(), s.writer.Close())
}

// step is an atomic step: a transaction, and the time at which it happens. The first
// error of the database stays in err: what is done after it has no effect, and no result.
type step struct {
	*sql.Tx
	ctx       context.Context
	namespace string
	now       time.Time
	num       int64 // of the session that it is about
	err       error
}

// run is the frame of every method, in the order of the rule [precedence]: the store is
// open; the context is not done; the arguments are not bad; then do decides about the
// record, in one transaction that an error rolls back.
func run[T any](ctx context.Context, s *Store, db *sql.DB, what string, bad error, do func(*step) (T, error)) (out T, err error) {
	defer func() {
		if errors.Is(err, sql.ErrTxDone) { // database/sql has rolled back, because ctx is done
			err = errors.Join(ctx.Err(), err)
		}
		if err != nil {
			out, err = *new(T), fmt.Errorf("sqlite: %s: %w", what, err)
		}
	}()
	if err := s.guard.Enter(ctx); err != nil {
		return out, err
	}
	defer s.guard.Leave()
	if bad != nil {
		return out, bad
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: db == s.reader})
	if err != nil {
		return out, err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	// The clock is read once a write has its lock, and before the first query of a read,
	// which takes the snapshot: in that is all that others had done by this time.
	st := &step{Tx: tx, ctx: ctx, namespace: s.options.Namespace, now: s.options.Now()}
	out, err = do(st)
	if err = cmp.Or(st.err, err); err == nil {
		err = tx.Commit()
	}
	return out, err
}

// runOn is run for a method of one session, which do is given.
func runOn[T any](ctx context.Context, s *Store, db *sql.DB, name, id string, bad error, do func(*step, sessionstore.Session) (T, error)) (T, error) {
	bad = cmp.Or(sessionstore.CheckID(id), bad)
	return run(ctx, s, db, fmt.Sprintf("%s %.80q", name, id), bad, func(tx *step) (out T, err error) {
		var in sessionstore.Session
		for tx.num, in = range query(tx, sessionstore.DecodeSession,
			`SELECT num, record FROM sessions WHERE namespace = ? AND id = ?`, tx.namespace, id) {
		}
		if tx.num == 0 || in.Expired(tx.now) {
			return out, sessionstore.ErrSessionNotFound
		}
		return do(tx, in)
	})
}

// insert stores a new session, in the place of an expired one, unless err refuses it.
func (tx *step) insert(s sessionstore.Session, err error) (sessionstore.Session, error) {
	if err != nil {
		return s, err
	}
	tx.exec(`DELETE FROM sessions WHERE namespace = ? AND id = ? AND expires_at <= ?`, tx.namespace, s.ID, tx.now.UnixMicro())
	if tx.exec(`INSERT INTO sessions (namespace, id, user_id, parent_id, list_key, record)
		VALUES (?, ?, ?, ?, '', x'') ON CONFLICT DO NOTHING`, tx.namespace, s.ID, s.UserID, s.ParentID) == 0 {
		return s, sessionstore.ErrSessionExists
	}
	tx.num = tx.number(`SELECT last_insert_rowid()`)
	return tx.save(s, nil)
}

// save stores what has become of a session, unless err refuses it.
func (tx *step) save(s sessionstore.Session, err error) (sessionstore.Session, error) {
	if err != nil {
		return s, err
	}
	record, err := s.AppendJSON(nil)
	expires := sql.NullInt64{Int64: s.ExpiresAt.UnixMicro(), Valid: !s.ExpiresAt.IsZero()}
	tx.exec(`UPDATE sessions SET list_key = ?, expires_at = ?, record = ? WHERE num = ?`, s.Key().String(), expires, record, tx.num)
	return s, err
}

// exec runs a statement and returns how many rows it changed.
func (tx *step) exec(statement string, args ...any) (changed int64) {
	if tx.err != nil {
		return 0
	}
	result, err := tx.ExecContext(tx.ctx, statement, args...)
	if err == nil {
		changed, err = result.RowsAffected()
	}
	tx.err = err
	return changed
}

// number runs a query for a number.
func (tx *step) number(query string, args ...any) (n int64) {
	if tx.err == nil {
		tx.err = tx.QueryRowContext(tx.ctx, query, args...).Scan(&n)
	}
	return n
}

// query runs a query for a number and a record in each row, and reads them one by one.
func query[T any](tx *step, decode func([]byte) (T, error), query string, args ...any) iter.Seq2[int64, T] {
	return func(yield func(int64, T) bool) {
		if tx.err != nil {
			return
		}
		rows, err := tx.QueryContext(tx.ctx, query, args...)
		for err == nil && rows.Next() {
			var n int64
			var record []byte
			var v T
			if err = rows.Scan(&n, &record); err == nil {
				v, err = decode(record)
			}
			if err == nil && !yield(n, v) {
				break
			}
		}
		if rows != nil {
			err = cmp.Or(err, rows.Err(), rows.Close()) //nolint:sqlclosecheck // its error counts
		}
		tx.err = cmp.Or(tx.err, err)
	}
}
