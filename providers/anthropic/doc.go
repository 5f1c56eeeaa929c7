// Package anthropic sends stored conversations to Anthropic's Messages API, and stores what
// it answers. It is a module of its own, so that only programs that use it depend on
// Anthropic's SDK.
//
// [Messages] makes a [sessionstore.Prompt] the system and the messages of a request;
// [Message] makes an answer a message to store. Both are pure functions: the same input
// gives the same bytes. [New] returns an [agent.Agent] for agent.Conversation.
//
//	client := sdk.NewClient() // reads ANTHROPIC_API_KEY
//	c, err := agent.Start(ctx, manager, sessionstore.Session{}, anthropic.New(client, "claude-sonnet-4-5", nil))
//	// …
//	r, err := c.Run(ctx, sessionstore.UserMessage("hello"))
//
// # What goes where
//
// A prompt is paired and repaired already. What then differs between providers is decided
// here:
//
//   - Session.System, then the system and developer messages that lead the prompt, are the
//     system. Such messages further on are sent as text of the user, where they stand.
//   - Neighbours of one side are joined into one message of several blocks. A conversation
//     that the assistant begins gets a user message before it ([Opening]).
//   - All results of an answer's calls are in the one user message that follows it, before
//     anything else. One that failed (Message.Extra "is_error", or no result was stored)
//     has is_error.
//   - thinking with a signature, redacted_thinking, and the blocks of tools that the server
//     ran are sent as they came, in their order. Thinking without a signature, or that
//     nothing of the answer follows, is left out, as is the reasoning of other providers.
//   - Images go as base64, url or file sources (JPEG, PNG, GIF, WebP), PDFs and texts as
//     documents. What the API has no block for (audio, another provider's file ids, other
//     image types) becomes a note: a short text in brackets. An attachment that is malformed
//     is ErrInvalid instead.
//   - A refusal, or the transcript of an answer in audio, stands for an answer without text.
//   - Blank texts are left out, and messages and answers of nothing else.
//   - cache_control is sent from parts, from tool calls (Extra) and from messages (Extra; for
//     their last block); of more than four the last count. The caller's own, on tools or by
//     Options.Params, come on top.
//   - Ids of tool calls that are not of the API's characters, longer than 64 bytes or in use
//     earlier in the request are replaced, in the call and in its result; those stored stay.
//   - Arguments that are no JSON object are sent as {"input": …}, none as {}.
//
// A prompt that ends with an answer asks the model to go on with it, which newer models
// refuse.
//
// # What is stored
//
// Text becomes the content, and tool_use tool calls, their unknown keys in Extra. Any other
// block is a part exactly as it came but for keys that are null. Where calls did not come
// last among the blocks, Message.Extra has their places under "call_positions".
package anthropic
