package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/memory"
)

// newManager returns a manager of an empty store, for the examples below.
func newManager() *sessionstore.Manager {
	store, err := memory.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	return sessionstore.NewManager(store, nil)
}

// A turn is stored when Run returns.
func ExampleConversation_Run() {
	ctx := context.Background()
	c, err := agent.Start(ctx, newManager(), sessionstore.Session{UserID: "ada", System: "Be brief."}, agent.Echo{})
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.Run(ctx, sessionstore.UserMessage("Where is my order?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Text, r.FinishReason)

	history, err := c.History(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range history {
		fmt.Println(m.Seq, m.Role, m.Content)
	}
	// Output:
	// Where is my order? stop
	// 1 user Where is my order?
	// 2 assistant Where is my order?
}

// To leave the loop interrupts the answer: what has come of it is kept.
func ExampleConversation_Stream() {
	ctx := context.Background()
	c, err := agent.Start(ctx, newManager(), sessionstore.Session{}, agent.Echo{})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range c.Stream(ctx, sessionstore.UserMessage("One two three")) {
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case agent.TextDelta:
			fmt.Printf("%q ", e.Text)
		case agent.Finish:
			fmt.Println("stored as message", e.Response.Message.Seq)
		}
	}
	for range c.Stream(ctx, sessionstore.UserMessage("Four five six")) {
		break
	}
	last, err := c.History(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	i, ok := agent.Interrupted(last[0])
	fmt.Printf("%q %t %s\n", last[0].Content, ok, i.Reason)
	// Output:
	// "One " "two " "three" stored as message 2
	// "Four " true stopped
}

// The answer is asked for as JSON, with the schema of the type, and decoded.
func ExampleRunJSON() {
	type Order struct {
		ID   int64  `json:"id" description:"The order's number."`
		City string `json:"city"`
	}
	ctx := context.Background()
	// The echo agent answers what it is told to.
	c, err := agent.Start(ctx, newManager(), sessionstore.Session{}, agent.Echo{})
	if err != nil {
		log.Fatal(err)
	}
	order, _, err := agent.RunJSON[Order](ctx, c, sessionstore.UserMessage(`{"id":7,"city":"Graz"}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(order.ID, order.City)
	// Output: 7 Graz
}

// forecaster is an agent that asks for the weather, and tells it.
type forecaster struct{}

func (forecaster) Run(_ context.Context, req agent.Request) (agent.Response, error) {
	messages := req.Prompt().Messages
	last := messages[len(messages)-1]
	if last.Role == sessionstore.RoleTool {
		return agent.Response{Text: "Expect " + last.Content.String() + "."}, nil
	}
	args, err := json.Marshal(map[string]string{"city": "Graz"})
	if err != nil {
		return agent.Response{}, err
	}
	return agent.Response{ToolCalls: []sessionstore.ToolCall{{ID: "call_1", Name: "weather", Arguments: string(args)}}}, nil
}

// Stream yields the whole answer at once.
func (f forecaster) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		r, err := f.Run(ctx, req)
		yield(agent.Finish{Response: r}, err)
	}
}

// The model's calls are run until it is done; each step is stored as it comes.
func ExampleWithTools() {
	ctx := context.Background()
	weather, err := agent.NewTool("weather", "Tells the weather in a city.",
		func(_ context.Context, args struct {
			City string `json:"city"`
		}) (string, error) {
			return "rain in " + args.City, nil
		})
	if err != nil {
		log.Fatal(err)
	}
	c, err := agent.Start(ctx, newManager(), sessionstore.Session{}, forecaster{}, agent.WithTools(weather))
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.Run(ctx, sessionstore.UserMessage("How will it be?"))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range r.Turn {
		fmt.Print(m.Role, ": ", m.Content)
		for _, call := range m.ToolCalls {
			fmt.Print(call.Name, call.Arguments)
		}
		fmt.Println()
	}
	// Output:
	// user: How will it be?
	// assistant: weather{"city":"Graz"}
	// tool: rain in Graz
	// assistant: Expect rain in Graz.
}

// A process that ends within a turn leaves what was stored until then. Another one takes
// the turn up there: by Continue, or by the same turn again if it has an id.
func ExampleConversation_Continue() {
	ctx := context.Background()
	m := newManager()
	c, err := agent.Start(ctx, m, sessionstore.Session{ID: "s"}, forecaster{})
	if err != nil {
		log.Fatal(err)
	}
	// Without tools the turn ends with the model's call: as if the process had died.
	if _, err := c.Run(ctx, sessionstore.UserMessage("How will it be?")); err != nil {
		log.Fatal(err)
	}

	c = agent.New(m, "s", forecaster{})
	pending, err := c.PendingToolCalls(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("pending:", pending[0].Name)
	weather := agent.Tool{Name: "weather", Run: func(context.Context, sessionstore.ToolCall) (sessionstore.Content, error) {
		return sessionstore.Text("snow"), nil
	}}
	r, err := c.Continue(ctx, agent.WithTools(weather))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Text)
	// Output:
	// pending: weather
	// Expect snow.
}
