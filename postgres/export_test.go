package postgres

// Waiting returns how many appends to a session wait for the one that is under way.
func (s *Store) Waiting(id string) int {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	return len(s.lines.busy[destination{id: id}])
}
