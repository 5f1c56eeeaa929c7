package postgres

// To remove messages together with a change of their session, in one round trip, takes
// two statements. The first locks the session's row, which waits for an append that is
// under way; the second begins after that, and so sees what was appended. In one
// statement it would not: its messages would be left behind.
//
// What the second statement works on is the row that the first has locked, and none that
// appeared between the two. The mark "held" says which that is. It is taken back, or its
// row deleted, by the same transaction: nobody else ever sees it.
const (
	hold        = `UPDATE @sessions SET held = true WHERE ` + named + ` AND ` + alive
	holdExpired = `UPDATE @sessions SET held = true WHERE ` + named + ` AND expires_at <= @now AND ` + readable

	// removeHeld removes the session that is held, and its messages.
	removeHeld = `WITH s AS (DELETE FROM @sessions WHERE ` + named + ` AND held RETURNING sid)
		DELETE FROM @messages m USING s WHERE m.sid = s.sid`
)
