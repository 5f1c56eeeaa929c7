module github.com/sessionstore/sessionstore

go 1.26

require github.com/google/uuid v1.6.0

require (
	go.etcd.io/bbolt v1.5.0 // indirect
	golang.org/x/sys v0.45.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
