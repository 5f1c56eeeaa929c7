module github.com/sessionstore/sessionstore/examples/sqlitestore

go 1.26

require (
	github.com/sessionstore/sessionstore v0.0.0
	modernc.org/sqlite v1.62.0
)

replace github.com/sessionstore/sessionstore => ../../
