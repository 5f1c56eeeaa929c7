package sessionstore

// SizeBound and StateSize are the sizes that the limits are checked with.
func SizeBound(m Message) int { return m.sizeBound() }
func StateSize(s Session) int { return s.stateSize() }
