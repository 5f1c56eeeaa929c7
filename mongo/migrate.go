package mongo

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// metaID is the _id of the one document of metaName: {format}.
const metaID = "format"

// index is one that a collection needs.
func index(name string, fields ...string) driver.IndexModel {
	keys := make(bson.D, len(fields))
	for i, f := range fields {
		keys[i] = bson.E{Key: f, Value: 1}
	}
	return driver.IndexModel{Keys: keys, Options: options.Index().SetName(name)}
}

// indexes are those of each collection, by name. A name stands for one set of keys for
// ever.
var (
	headIndexes = map[string][]string{
		"list":        {"ns", "place"},
		"list_user":   {"ns", "user", "place"},
		"list_parent": {"ns", "parent", "place"},
		"expiry":      {"ns", "expires"},
	}
	blockIndexes = map[string][]string{
		"ids":   {"session", "ids"},
		"check": {"ns", "check"},
	}
)

// Migrate makes the indexes, or what else a later version of this package may need. Any
// number of processes may do so at the same time, and again; a database that is up to date
// is only looked at. It needs a role that may create indexes: readWrite has that. Errors:
// ErrSchemaTooNew.
//
// Without it a store is correct and slow: lists read all sessions.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.migrate(ctx); err != nil {
		return fmt.Errorf("mongo: migrate: %w", err)
	}
	return nil
}

func (s *Store) migrate(ctx context.Context) (err error) {
	if ctx, err = s.enter(ctx); err != nil {
		return err
	}
	defer s.scope.Leave()
	if err := s.checkFormat(ctx); err != nil {
		return err
	}
	if err := ensure(ctx, s.heads, headIndexes); err != nil {
		return heeded(ctx, err)
	}
	if err := ensure(ctx, s.blocks, blockIndexes); err != nil {
		return heeded(ctx, err)
	}
	_, err = s.meta.UpdateOne(ctx, bson.D{{Key: "_id", Value: metaID}},
		bson.D{{Key: "$max", Value: bson.D{{Key: "format", Value: int64(format)}}}}, options.UpdateOne().SetUpsert(true))
	if driver.IsDuplicateKeyError(err) {
		return nil // another process was first
	}
	return heeded(ctx, err)
}

// ensure makes those indexes that are missing.
func ensure(ctx context.Context, c *driver.Collection, want map[string][]string) error {
	missing, err := without(ctx, c, want)
	if err != nil || len(missing) == 0 {
		return err
	}
	if _, err = c.Indexes().CreateMany(ctx, missing); err == nil {
		return nil
	}
	// Another process may have made them meanwhile. That is no error of MongoDB, but FerretDB
	// breaks the connection.
	if missing, again := without(ctx, c, want); again == nil && len(missing) == 0 {
		return nil
	}
	return err
}

// without returns those of the indexes that a collection does not have.
func without(ctx context.Context, c *driver.Collection, want map[string][]string) ([]driver.IndexModel, error) {
	there, err := c.Indexes().ListSpecifications(ctx)
	if err != nil {
		return nil, err
	}
	missing := maps.Clone(want)
	for _, spec := range there {
		delete(missing, spec.Name)
	}
	// Made anew for each call: the driver writes to the options of a model.
	var models []driver.IndexModel
	for name, fields := range missing {
		models = append(models, index(name, fields...))
	}
	return models, nil
}

// checkFormat returns an error if the database is one of a later version's.
func (s *Store) checkFormat(ctx context.Context) error {
	var meta struct {
		Format int64 `bson:"format"`
	}
	err := s.meta.FindOne(ctx, bson.D{{Key: "_id", Value: metaID}}).Decode(&meta)
	if errors.Is(err, driver.ErrNoDocuments) {
		return nil
	}
	if err != nil {
		return heeded(ctx, err)
	}
	if meta.Format > format {
		return tooNew(meta.Format)
	}
	return nil
}
