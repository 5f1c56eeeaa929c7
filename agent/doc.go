// Package agent holds conversations: it asks a model, streams what it answers, runs the
// tools that it calls, and keeps every turn in a session, whatever happens to it.
//
// An [Agent] is a model behind an API, or anything that answers; packages under providers
// have some, and [Echo] works offline. A [Conversation] is a handle on one session and an
// agent:
//
//	m := sessionstore.NewManager(store, nil)
//	c, err := agent.Start(ctx, m, sessionstore.Session{UserID: "ada", System: "Be brief."}, model)
//	// …
//	r, err := c.Run(ctx, sessionstore.UserMessage("Where is my order?"))
//	// …
//	for e, err := range c.Stream(ctx, sessionstore.UserMessage("And the other one?")) {
//		// …
//	}
//
// What becomes of a turn that fails, is left, cancelled, repeated, or made twice at the
// same time is written at [Conversation].
//
// # Writing an agent
//
// An agent is two methods and keeps no state. It sends [Request.Prompt], which is valid
// for a model's API already, and returns a [Response] whose Message holds what the
// provider wants back in the next request. A stream yields pieces as they come and the same
// Response in its [Finish]; one that ends without is taken for cut.
package agent
