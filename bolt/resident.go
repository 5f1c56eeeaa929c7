package bolt

import "go.etcd.io/bbolt"

// forgetEvery is after how many bytes of written pages a restore lets go of the memory
// map. Each page that is read to be rewritten may bring fifteen neighbours in with it.
const forgetEvery = 2 << 20

// forget keeps the process small while many sessions are restored one after the other.
// Their pages are read through the memory map, and what was read once counts as this
// process's memory until the system needs it elsewhere: an import would seem to take as
// much as the file is long. The pages stay in the system's cache.
func (w *writer) forget() {
	stats := w.db.Stats()
	written := stats.TxStats.GetPageAlloc()
	w.mu.Lock()
	due := written-w.forgotten >= forgetEvery
	if due {
		w.forgotten = written
	}
	w.mu.Unlock()
	if due {
		// In a transaction, so that the map is not replaced meanwhile.
		_ = w.db.View(func(tx *bbolt.Tx) error {
			dropResident(w.db.Info().Data, uintptr(tx.Size()))
			return nil
		})
	}
}
