package sessionstore

import (
	"context"
	"iter"
)

func restoreByAppend(ctx context.Context, store SessionStore, s Session, messages iter.Seq2[Message, error]) (Session, error) {
	panic("stub")
}
