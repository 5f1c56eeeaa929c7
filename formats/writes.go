package formats

import "sync"

// So many conversations, and bytes of records, are written at once: a store that commits
// what comes together by one flush to disk is then many times faster.
const (
	maxWrites     = 16
	maxWriteBytes = 2 << 20
)

// outcome is what became of one conversation.
type outcome struct {
	file        string
	line, index int64
	report      Report // without Failed
	err         error
}

// writes runs the writes of conversations beside the reading of the file. Their outcomes
// wait until the reader asks for them, so that callbacks run on its goroutine.
type writes struct {
	running sync.WaitGroup

	mu    sync.Mutex
	freed sync.Cond // on mu; a write ended
	n     int
	bytes int
	ids   map[string]bool // of the sessions that are being written
	done  []outcome
}

// start runs write, of the session of that id, as soon as there is room. Two of one id, and
// the branches of one trunk under its id, run in the order of the file, so that always the
// same counts. One that is larger than all
// the room runs alone and has ended when start returns, so that no second large record is
// read beside it.
func (w *writes) start(id string, size int, write func() outcome) {
	if size > maxWriteBytes {
		w.wait()
		o := write()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.done = append(w.done, o)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.freed.L = &w.mu
	for w.n == maxWrites || w.bytes+size > maxWriteBytes || w.ids[id] {
		w.freed.Wait()
	}
	if w.ids == nil {
		w.ids = make(map[string]bool, maxWrites)
	}
	w.ids[id] = true
	w.n++
	w.bytes += size
	w.running.Go(func() {
		o := write()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.ids, id)
		w.n--
		w.bytes -= size
		w.done = append(w.done, o)
		w.freed.Signal()
	})
}

// finished returns the outcomes since it was last called.
func (w *writes) finished() []outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := w.done
	w.done = nil
	return done
}

// wait returns when no write is running.
func (w *writes) wait() { w.running.Wait() }
