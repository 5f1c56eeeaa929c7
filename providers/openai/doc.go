// Package openai sends stored conversations to OpenAI and to servers that are compatible
// with it, and stores what they answer. It is a module of its own, so that only programs
// that use it depend on OpenAI's SDK.
//
// [ChatMessages] and [ResponseItems] make a [sessionstore.Prompt] the parameters of the
// two APIs; [ChatMessage] and [ResponseMessage] make their answers messages to store. All
// four are pure functions: the same input gives the same bytes. [New] returns an
// [agent.Agent] for agent.Conversation.
//
//	client := sdk.NewClient() // reads OPENAI_API_KEY
//	c, err := agent.Start(ctx, manager, sessionstore.Session{}, openai.New(client, "gpt-5.2", nil))
//	// …
//	r, err := c.Run(ctx, sessionstore.UserMessage("hello"))
//
// # What goes where
//
// A prompt is paired and repaired already. What then differs between providers is decided
// here:
//
//	stored                        Chat Completions            Responses
//	Session.System                first, role system          the same
//	system, developer messages    where they stand            the same
//	text of any provider          text                        input_text, output_text
//	image                         image_url                   input_image
//	PDF or other file             file                        input_file
//	file_id of OpenAI             file (not of images)        input_image, input_file
//	URL of a file                 a note                      input_file
//	document that is a text       text                        input_text
//	audio of a user               input_audio (wav, mp3)      a note
//	audio of an answer            its id                      its transcript
//	refusal                       refusal                     refusal
//	reasoning item with an id     left out                    as it came, if an item follows
//	hosted tool's item            left out                    as it came, if OpenAI ran it
//	annotations, phase            left out                    sent back
//	attachment of a tool's result in a user message after it  within the output
//	another provider's thinking,  left out                    left out
//	cache_control, signatures
//	reasoning_content             left out                    left out
//
// A note is a short text in brackets that says what was left out, so that the model does
// not miss it in silence. An attachment that is malformed is ErrInvalid instead. An answer
// with nothing left in it is left out.
//
// Ids of tool calls that are empty, longer than the API takes (40 bytes for Chat
// Completions, 64 for Responses) or in use earlier in the request are replaced, in the
// call and in its result; those stored stay. Empty arguments are sent as {}; others as
// they were received, even if they are no JSON. Names are sent with "_" for each character
// that the API refuses.
//
// # What is stored
//
// Of an answer of Chat Completions, the keys that the library has no field for are kept in
// Message.Extra: refusal, audio, annotations, reasoning_content and whatever else came. Of
// Responses, text items become parts of type text, and the phase of their item stands in
// them; calls become tool calls; any other item is a part exactly as it came. Where calls
// did not come last among the items, Message.Extra has their places under
// "call_positions".
package openai
