package main

// Every backend that --store can name registers its URL schemes here.
import (
	_ "github.com/sessionstore/sessionstore/bolt"
	_ "github.com/sessionstore/sessionstore/memory"
)
