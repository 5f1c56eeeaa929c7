package storetest

import "github.com/sessionstore/sessionstore/verify"

// verifyInvariants checks what must hold of the case's data whatever the case did, as its
// last step, through a handle of its own.
func verifyInvariants(e *env) {
	report, err := verify.Store(e.ctx, e.open(), &verify.Options{PageSize: 1000, MaxProblems: 5})
	if err != nil {
		e.Fatalf("verify.Store after the case\n  got:  error %v\n  want: none", err)
	}
	if err := report.Err(); err != nil {
		e.Errorf("verify.Store after the case\n  got:  %v\n  want: no problem", err)
	}
}
