package formats

import "os"

// tempFile is a file for what an import cannot keep in memory. It has lost its name
// already, where the system lets an open file lose it: then nothing is left of it however
// the process ends.
type tempFile struct {
	*os.File
	named bool
}

// createTemp makes one in dir, or in os.TempDir() if that is empty.
func createTemp(dir string) (*tempFile, error) {
	f, err := os.CreateTemp(dir, "sessionstore-import-*")
	if err != nil {
		return nil, err
	}
	return &tempFile{File: f, named: os.Remove(f.Name()) != nil}, nil
}

// close gives the file's space back. What fails here leaves a file behind, but the import
// was done.
func (t *tempFile) close() {
	_ = t.Close()
	if t.named {
		_ = os.Remove(t.Name())
	}
}
