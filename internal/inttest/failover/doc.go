// Package failover takes what stands between a store and its data away while many write: a
// master of a Redis Cluster, whose replica then takes its place, and the PgBouncer before
// PostgreSQL. Writes go on, none is doubled, no history has a gap, and what was
// acknowledged is there: all of it behind PgBouncer; in the cluster all but the newest
// that the master had not yet sent to its replica.
package failover
