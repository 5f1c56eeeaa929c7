package linear

// Two backends document that they do less than the model asks. What they may do instead is
// added to their histories as calls that may have happened too, so that everything else is
// held against the model as it is.

// CreateInSteps lets a create remove what has expired before it makes the new session, in
// two steps: a clock that jumps back in between finds neither. So does a store without
// transactions.
func CreateInSteps(calls []Call) []Call {
	out := calls
	for _, c := range calls {
		if c.Kind == Create {
			out = append(out, Call{Client: c.Client, Session: c.Session, Kind: Purge, Start: c.Start, End: c.End, Clocks: c.Clocks, Outcome: OK})
		}
	}
	return out
}

// SentAgain lets a write take place once more while it is under way, which a driver that
// sends it again brings about, if what the first did is undone meanwhile; and lets its
// answer be the session as it is by then.
func SentAgain(calls []Call) []Call {
	var out []Call
	for _, c := range calls {
		if !c.Kind.writes() || c.Kind == Purge {
			out = append(out, c)
			continue
		}
		again := c
		again.Outcome, again.Got, again.Found = Unknown, nil, nil
		if c.Outcome == OK && (c.Kind == Update || c.Kind == Truncate) {
			seen := Call{Client: c.Client, Session: c.Session, Kind: Get, Start: c.Start, End: c.End, Clocks: c.Clocks, Outcome: OK, Got: c.Got}
			c.Got = nil
			out = append(out, seen)
		}
		out = append(out, c, again)
	}
	return out
}
