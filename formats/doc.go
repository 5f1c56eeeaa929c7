// Package formats imports conversations from the file formats of others into a session
// store, and exports them.
//
//	report, err := formats.Import(ctx, store, "sharegpt", file, nil)
//	report, err := formats.Export(ctx, store, "anthropic", w, nil)
//
// The formats of import are
//
//	anthropic  requests and answers of Anthropic's Messages API
//	chatgpt    ChatGPT's data export: conversations.json, its numbered files, the zip archive
//	claudeai   Claude.ai's data export: conversations.json, the zip archive
//	langchain  LangChain's message dictionaries, and the rows of its Redis, Mongo and SQL histories
//	native     what sessionstore.Export writes
//	openai     chat completions: fine-tuning JSONL, {"messages": […]}, lists of messages, preference data
//	python     the dictionaries of the original Python models and of the agent handle
//	responses  items, requests and responses of OpenAI's Responses API
//	sharegpt   {"conversations": [{"from", "value"}, …]} and its variants
//	vercel     UIMessages of the AI SDK, version 4 and up
//
// and [Auto], which finds out which of them a file is.
//
// What a format has and the library does not model is kept as it is spelled, under
// Session.Extra and Message.Extra with the format's name as the key, or as a part of the
// content where it is one: an answer's reasoning, a pointer to a file that is not there.
// Such parts are not sent to models that do not know them.
//
// # Export
//
// The API's formats (anthropic, finetune, openai, responses), langchain, sharegpt and vercel
// can be written; see [Export]. What an import of a format kept goes out again to the same
// format, so that a file comes back as it was, but for what an API would refuse and for
// these spellings: a plain text is a string, results follow their calls, null and empty
// optional keys are not there, and old forms (function_call, LangChain's older dictionaries,
// UIMessages of version 4) become the present ones. To another format go the messages
// alone, as providers/openai and providers/anthropic would send them; testdata/matrix.golden
// says what survives from which format to which. Only the native format loses nothing.
//
// # Files
//
// A file may hold one JSON value a line, one top-level array, or objects written over
// several lines; which of these it is, is found out. A byte order mark, CRLF, blank lines
// and a missing last newline are accepted, lines may be long, and a record may have
// [MaxRecordBytes]. A zip archive is read as the conversations*.json in it. Text must be
// valid Unicode: a record with invalid UTF-8 or half a surrogate pair is reported, not
// repaired, and a file of UTF-16 refused. Files are read as a stream. (For the native format
// see [sessionstore.Import].)
//
// A bad record is reported with its line and index, and the others are imported. In an
// array that holds as long as its brackets match; where they do not, the import ends with
// a [SyntaxError]. In the python format, where a session lies in several records, a bad one
// that names its session keeps that out. One that does not may have been any session's
// message: they are all imported as the rest of the file has them, and one may lack it
// until the mended file is imported.
//
// # Branches
//
// ChatGPT and Claude.ai keep answers that were generated again, and questions that were
// edited, beside the conversation: their exports are trees. The branch that was open is
// imported, and the others by Options.Branches, as sessions that look like forks of it.
// Messages whose parents go round in a circle, or are missing, are reported.
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
// Conversations of chatgpt, claudeai and vercel have ids, but two users can have the same:
// the session's id is made of the format, Options.UserID and that. They are treated as if
// the file had given it, but that what the app says of the conversation (its title, its
// settings) may differ: it is what a later export changes. So importing a later export
// completes what has gone on since. Of a branch the last message counts as well.
//
// A session with an id of the file that lacks messages of the file is completed where that
// loses nothing: it is replaced (deleted and restored) by what a first import would have
// made of the record, if its state is the file's and each of its messages is in the file, in
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
// it is not in memory meanwhile, and from there to the store one by one. With
// Options.Branches a record stays in memory until its branches are written, if it has some.
// A zip archive that comes as a stream is copied to a temporary file; its directory may
// have 16 MiB and its conversations 16 GiB.
//
// To number equal records an import remembers 12 bytes for each different one: 6 MiB at
// most, and as much again while they move to a temporary file. The python format sorts
// the lines of a file by session: 4 MiB in memory, then in a temporary file of the size of
// the input. Temporary files have no name, so that a crash leaves none; on Windows, where
// that cannot be, they are removed at the end.
package formats
