package sessionstore

import (
	"errors"
	"fmt"
)

// ErrSchemaTooOld is what Open gives for a URL with migrate=off where the store's data has
// still to be migrated; a *SchemaError says from which version. Nothing was written. A
// role that may change the schema migrates by opening the same URL without migrate=off.
var ErrSchemaTooOld = errors.New("data of an older version")

// SchemaError says which version of a backend's schema the data has, and which one the
// backend needs. It matches ErrSchemaTooOld.
type SchemaError struct {
	Version int // 0: there is no schema yet
	Needed  int
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("schema version %d, this program needs %d", e.Version, e.Needed)
}

// Is makes errors.Is(err, ErrSchemaTooOld) true.
func (e *SchemaError) Is(target error) bool { return target == ErrSchemaTooOld }
