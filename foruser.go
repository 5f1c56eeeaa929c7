package sessionstore

import "context"

func ForUser(store SessionStore, userID string) SessionStore { panic("stub") }
func Unusable(err error) SessionStore                        { panic("stub") }
func forkByCopy(ctx context.Context, store SessionStore, id string, f Fork) (Session, error) {
	panic("stub")
}
