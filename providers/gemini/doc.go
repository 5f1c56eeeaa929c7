// Package gemini sends stored conversations to the Gemini API, and stores what it answers.
// It is a module of its own, so that only programs that use it depend on Google's SDK.
//
// [Contents] makes a [sessionstore.Prompt] the system instruction and the contents of a
// generateContent request; [Message] makes a response, or those of a stream, a message to
// store. Both are pure functions: the same input gives the same bytes.
//
//	system, contents, err := gemini.Contents(prompt)
//	// …
//	r, err := client.Models.GenerateContent(ctx, "gemini-2.5-flash", contents,
//		&genai.GenerateContentConfig{SystemInstruction: system})
//	// …
//	m, err := gemini.Message(r)
//
// # What goes where
//
// A prompt is paired and repaired already. What then differs between providers is decided
// here:
//
//   - Session.System, then the system and developer messages that lead the prompt, are the
//     system instruction. Such messages further on are sent as text of the user, where they
//     stand.
//   - Answers that follow each other are joined into one turn. A conversation that the model
//     begins gets a user's turn before it ([Opening]).
//   - The function responses for an answer's calls are a turn of their own, in the order of
//     the calls: the text under "output", or "error" if the call failed (Message.Extra
//     "is_error", or no result was stored). Attachments of results follow in another turn.
//   - Thought signatures go back on the part or the call that they came with; also those
//     that the API compatible with OpenAI's gives (extra_content). Gemini 3 refuses calls of
//     the current turn without one, so that a tool loop cannot be begun with another
//     provider and gone on with there.
//   - Thoughts without a signature, and the reasoning of other providers, are left out.
//   - Images, audio and files go as inline data or by their URI, whose media type is guessed
//     by its ending. Uploaded files of other providers become a note: a short text in
//     brackets. An attachment that is malformed is ErrInvalid instead.
//   - Arguments that are no JSON object are sent as {"input": …}. The SDK makes numbers in
//     them float64.
//   - Names of functions are sent with "_" for each character that the API refuses.
//
// # What is stored
//
// Text becomes the content, and function calls tool calls, with an id of their place if
// they came without one. A part with a thought signature has it under "thought_signature".
// Thoughts are parts of type reasoning, images parts of type image_url, and any other part
// is kept as the SDK has it under "part" in a part of type "gemini". Where calls did not
// come last among the parts, Message.Extra has their places under "call_positions".
package gemini
