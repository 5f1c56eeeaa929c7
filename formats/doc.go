// Package formats imports conversations from the file formats of others into a session
// store.
//
//	report, err := formats.Import(ctx, store, "sharegpt", file, nil)
//
// The formats are
//
//	openai    chat completions: fine-tuning JSONL, {"messages": […]}, lists of messages, preference data
//	python    the dictionaries of the original Python models and of the agent handle
//	sharegpt  {"conversations": [{"from", "value"}, …]} and its variants
//	native    what sessionstore.Export writes
//
// # Files
//
// A file may hold one JSON value a line, one top-level array, or objects written over
// several lines; which of these it is, is found out. A byte order mark, CRLF, blank lines
// and a missing last newline are accepted, lines may be long, and a record may have
// [MaxRecordBytes]. Text must be valid Unicode: a record with invalid UTF-8 or half a
// surrogate pair is reported, not repaired. Files are read as a stream. (For the native
// format see [sessionstore.Import].)
//
// A bad record is reported with its line and index, and the others are imported. In an
// array that holds as long as its brackets match; where they do not, the import ends with
// a [SyntaxError]. In the python format, where a session lies in several records, a bad one
// that names its session keeps that out. One that does not may have been any session's
// message: they are all imported as the rest of the file has them, and one may lack it
// until the mended file is imported.
//
// # Repetition
//
// Importing a file again adds nothing. A record that has no id of its own gets one made
// of the format, the SHA-256 of Options.UserID and the record's content, and the record's
// number among equal ones of the file: white space, the order of keys and the spelling of
// characters do not count, everything else does. Message ids are made of the session's id
// and the position. A session whose id is there already is skipped, whatever was appended
// or changed since; it is reported if it never had all its messages ([ErrIncomplete]),
// or, where the file gave the id, if they, or its state before any update, say something
// else ([sessionstore.ErrSessionExists]).
//
// A session with an id of the file that lacks messages of the file is completed where that
// loses nothing: it is replaced (deleted and restored) by what a first import would have
// made of the record, if it was never updated and each of its messages is in the file, in
// the same order. A crash between the two steps leaves it out until the next import.
//
// # Times
//
// Times of the file are kept. A session without any gets the time of the import, a
// message without one that of the message before it, the first one that of the session.
// No id depends on them. (A store that cannot restore gives sessions and updates times of
// its own.)
//
// # Cost
//
// An import holds the record that it reads and up to 2 MiB of records that are being
// written, 16 at most: a store that groups commits is much faster so. A larger record is
// written before the next one is read. Its messages go to a temporary file first, so that
// it is not in memory meanwhile, and from there to the store one by one.
//
// To number equal records an import remembers 12 bytes for each different one: 6 MiB at
// most, and as much again while they move to a temporary file. The python format sorts
// the lines of a file by session: 4 MiB in memory, then in a temporary file of the size of
// the input. Temporary files have no name, so that a crash leaves none; on Windows, where
// that cannot be, they are removed at the end.
package formats
