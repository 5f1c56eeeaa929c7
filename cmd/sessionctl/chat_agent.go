package main

import (
	"errors"
	"net/url"
	"os"
	"strconv"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	openaisdk "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/spf13/pflag"

	"github.com/sessionstore/sessionstore/agent"
	"github.com/sessionstore/sessionstore/providers/anthropic"
	"github.com/sessionstore/sessionstore/providers/openai"
)

// modelFlags say who answers in a chat, and how.
type modelFlags struct {
	kind        string // of the agent
	name        string
	baseURL     string
	maxTokens   int
	temperature optional[float64]
}

func (m *modelFlags) flags(f *pflag.FlagSet) {
	m.kind = "echo"
	f.Func("agent", "who answers, an `AGENT`: echo (the default), openai or anthropic", func(s string) error {
		switch s {
		case "echo", "openai", "anthropic":
			m.kind = s
			return nil
		}
		return errors.New("not one of echo, openai and anthropic")
	})
	nameFlag(f, &m.name, "model", "`NAME` of the model, as its server knows it")
	f.Func("base-url", "`URL` of the server, if it is not the provider's own", func(s string) error {
		u, err := url.Parse(s)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return errors.New("not an http or https URL")
		}
		if u.RawQuery != "" || u.Fragment != "" {
			return errors.New("a URL with a query or fragment, which the requests would not have")
		}
		m.baseURL = s
		return nil
	})
	countFlag(f, &m.maxTokens, "max-tokens", "bound an answer to `N` tokens; 0: the agent's own")
	m.temperature.flag(f, "temperature", "sampling temperature, a `NUMBER` of 0 to 2", func(s string) (float64, error) {
		t, err := strconv.ParseFloat(s, 64)
		if err != nil || !(t >= 0 && t <= 2) {
			return 0, errors.New("not a number of 0 to 2")
		}
		return t, nil
	})
}

// agent returns the agent that the flags choose. Its keys and all else that the SDKs read
// comes from their own variables of the environment.
func (m *modelFlags) agent() (agent.Agent, error) {
	switch {
	case m.kind == "echo" && (m.name != "" || m.baseURL != ""):
		return nil, usagef("the echo agent has no --model and no --base-url; name one with --agent openai or anthropic")
	case m.kind == "echo":
		return agent.Echo{}, nil
	case m.name == "":
		return nil, usagef("--agent %s needs --model", m.kind)
	case m.kind == "anthropic":
		var options []anthropicoption.RequestOption
		if m.baseURL != "" {
			options = append(options, anthropicoption.WithBaseURL(m.baseURL))
		}
		return anthropic.New(anthropicsdk.NewClient(options...), m.name, nil), nil
	}
	var options []openaioption.RequestOption
	if m.baseURL != "" {
		options = append(options, openaioption.WithBaseURL(m.baseURL))
	}
	own := m.baseURL == "" && os.Getenv("OPENAI_BASE_URL") == ""
	if own && os.Getenv("OPENAI_API_KEY") == "" {
		return nil, usagef("--agent openai needs a key in OPENAI_API_KEY, or --base-url")
	}
	// Servers that imitate the API know the bound by its older name.
	return openai.New(openaisdk.NewClient(options...), m.name, &openai.Options{LegacyMaxTokens: !own}), nil
}

// options are what the flags say of each answer.
func (m *modelFlags) options() []agent.Option {
	var options []agent.Option
	if m.maxTokens > 0 {
		options = append(options, agent.WithMaxTokens(m.maxTokens))
	}
	if m.temperature.given() {
		options = append(options, agent.WithTemperature(*m.temperature.value))
	}
	return options
}
