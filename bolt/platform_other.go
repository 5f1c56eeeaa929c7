//go:build !unix

package bolt

import "os"

// syncDir does nothing: a directory cannot be synced here.
func syncDir(string) error { return nil }

// keepOwner does nothing: a new file belongs to whom its directory says.
func keepOwner(*os.File, os.FileInfo) error { return nil }
