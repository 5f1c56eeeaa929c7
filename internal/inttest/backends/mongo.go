package backends

import (
	"context"
	"net"
	"testing"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/mongo"
)

// onMongo is a database. The server's command to end a client's connections is none that
// the stand-in for it knows.
type onMongo struct{ dsn, database string }

func mongoData(tb testing.TB) Data {
	tb.Helper()
	d := onMongo{testenv.Mongo(tb), name()}
	client := d.client(tb, Options{})
	tb.Cleanup(func() {
		if err := client.Database(d.database).Drop(context.Background()); err != nil {
			tb.Errorf("dropping the database: got %v, want nil", err)
		}
	})
	s, err := mongo.New(client.Database(d.database), nil)
	if err == nil {
		err = s.Migrate(tb.Context())
	}
	if err != nil {
		tb.Fatalf("Migrate: got %v, want nil", err)
	}
	return d
}

func (d onMongo) client(tb testing.TB, o Options) *driver.Client {
	tb.Helper()
	client, err := driver.Connect(options.Client().ApplyURI(d.dsn).SetDialer(dialer(o.dial)))
	if err != nil {
		tb.Fatal("Connect: got an error, want a client") // it may quote a password
	}
	tb.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

func (d onMongo) Open(tb testing.TB, o Options) sessionstore.SessionStore {
	tb.Helper()
	s, err := mongo.New(d.client(tb, o).Database(d.database), &mongo.Options{Namespace: o.Namespace, Now: o.Now})
	return closing(tb, s, err)
}

func (onMongo) Kill(context.Context) error { return nil }
