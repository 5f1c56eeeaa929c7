package formats

import (
	"context"
	"fmt"

	"github.com/sessionstore/sessionstore"
)

// importNative hands the library's own format to the root package, which alone knows how
// its end line and its counters are checked. The options for what a record lacks do not
// apply: nothing is lacking there.
func importNative(ctx context.Context, store sessionstore.SessionStore, in *input, o *Options) (Report, error) {
	if in.zip != nil {
		return Report{}, fmt.Errorf("import: %w", invalid("file", "is a zip archive: unpack it first"))
	}
	opts := &sessionstore.ImportOptions{}
	if o.OnError != nil {
		opts.OnError = func(e sessionstore.RecordError) {
			err := e.Err
			if e.SessionID != "" {
				err = fmt.Errorf("session %q: %w", clip(e.SessionID), err)
			}
			o.OnError(RecordError{Line: e.Line, Index: -1, Err: err})
		}
	}
	rep, err := sessionstore.Import(ctx, store, in.r, opts)
	return Report{
		Sessions: rep.Sessions,
		Messages: rep.Messages,
		Skipped:  rep.Skipped,
		Expired:  rep.Expired,
		Failed:   rep.Failed,
	}, err
}
