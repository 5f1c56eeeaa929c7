package crash

import (
	"encoding/json"
	"io"

	"github.com/sessionstore/sessionstore/internal/inttest/call"
)

// Record is a line of a writer's log.
type Record struct {
	Worker int        `json:"worker"`
	Begin  *call.Call `json:"begin,omitempty"` // it is about to be made

	// Otherwise the worker's last call has ended: with a sentinel's name, with nothing, or
	// with call.Unknown, after which the worker makes no more calls. Err is the error then.
	Class string `json:"class,omitempty"`
	Seq   int64  `json:"seq,omitempty"` // of the first message that an append stored
	Err   string `json:"err,omitempty"`
}

// write puts the record on the log, with one system call: it is there whole, or not.
func (r Record) write(w io.Writer) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
