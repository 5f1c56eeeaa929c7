package sessionstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore"
)

func TestSchemaError(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("open: %w", &sessionstore.SchemaError{Version: 1, Needed: 3})
	if !errors.Is(err, sessionstore.ErrSchemaTooOld) || errors.Is(err, sessionstore.ErrSchemaTooNew) {
		t.Errorf("errors.Is of %v: want ErrSchemaTooOld and not ErrSchemaTooNew", err)
	}
	for _, version := range []string{"version 1", "needs 3"} {
		if !strings.Contains(err.Error(), version) {
			t.Errorf("the text: got %q, want one with %q", err, version)
		}
	}
}
