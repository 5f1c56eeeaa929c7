package wirecheck

import (
	"encoding/base64"
	"slices"
	"strings"
)

var anthropicRules = []Rule{
	{ID: "anthropic.shape", Source: claudeMessages},
	{ID: "anthropic.roles", Source: claudeMessages},
	{ID: "anthropic.first", Source: claudeMessages, Unverified: true}, // newer models may take an assistant first
	{ID: "anthropic.alternate", Source: claudeMessages},               // the API joins neighbours; compatible servers refuse them
	{ID: "anthropic.block", Source: claudeMessages},
	{ID: "anthropic.text", Source: "messages: text content blocks must contain non-whitespace text", Unverified: true},
	{ID: "anthropic.trailing", Source: "final assistant content cannot end with trailing whitespace", Unverified: true},
	{ID: "anthropic.results", Source: claudeTools},
	{ID: "anthropic.id", Source: "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", Unverified: true},
	{ID: "anthropic.unique", Source: "tool_use ids must be unique", Unverified: true},
	{ID: "anthropic.name", Source: claudeDefine},
	{ID: "anthropic.input", Source: claudeTools},
	{ID: "anthropic.thinking", Source: claudeThinking},
	{ID: "anthropic.last", Source: "The final block in an assistant message cannot be thinking", Unverified: true},
	{ID: "anthropic.image", Source: claudeVision},
	{ID: "anthropic.document", Source: claudePDF},
	{ID: "anthropic.cache", Source: claudeCaching},
}

// blocks are the types that the content of each role may have.
var blocks = map[string][]string{
	"user": {"text", "image", "document", "search_result", "tool_result", "container_upload"},
	"assistant": {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use",
		"web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result",
		"bash_code_execution_tool_result", "text_editor_code_execution_tool_result",
		"tool_search_tool_result", "container_upload"},
	"tool_result": {"text", "image", "document", "search_result", "tool_reference"},
	"system":      {"text"},
}

// Anthropic checks the "system" and "messages" of a Messages request.
func Anthropic(request []byte) error {
	v, err := parse("anthropic.shape", request)
	if err != nil {
		return err
	}
	req, ok := v.(object)
	if !ok {
		return broken("anthropic.shape", "request", "is no object")
	}
	c := claude{ids: map[string]bool{}}
	if s, ok := req["system"]; ok {
		if err := c.list("system", "system", s); err != nil {
			return err
		}
	}
	messages, ok := req["messages"].([]any)
	if !ok || len(messages) == 0 {
		return broken("anthropic.shape", "messages", "is no list, or empty")
	}
	for i, m := range messages {
		if err := c.message(at("messages", i), m, i == len(messages)-1); err != nil {
			return err
		}
	}
	if len(c.open) > 0 {
		return broken("anthropic.results", "messages", "end before %q are answered", c.open)
	}
	if c.cached > 4 {
		return broken("anthropic.cache", "request", "has %d cache breakpoints, at most 4 are taken", c.cached)
	}
	return nil
}

type claude struct {
	role   string
	ids    map[string]bool
	open   []string // calls that the next message must answer
	cached int
}

func (c *claude) message(path string, v any, last bool) error {
	m, ok := v.(object)
	if !ok || onlyKeys(m, "role", "content") != "" {
		return broken("anthropic.shape", path, "is no message of role and content: %v", v)
	}
	role := str(m, "role")
	if role != "user" && role != "assistant" {
		return broken("anthropic.roles", path, "has the role %q", role)
	}
	if c.role == "" && role != "user" {
		return broken("anthropic.first", path, "is of the assistant and the first")
	}
	if c.role == role {
		return broken("anthropic.alternate", path, "is of the %s, like the one before", role)
	}
	c.role = role
	if len(c.open) > 0 && role != "user" {
		return broken("anthropic.results", path, "comes before %q are answered", c.open)
	}
	if err := c.list(path, role, m["content"]); err != nil {
		return err
	}
	list, _ := m["content"].([]any)
	if role == "user" {
		if len(c.open) > 0 {
			return broken("anthropic.results", path, "leaves %q unanswered", c.open)
		}
		return nil
	}
	for _, b := range list {
		if str(b.(object), "type") == "tool_use" {
			c.open = append(c.open, str(b.(object), "id"))
		}
	}
	if len(list) == 0 {
		return nil
	}
	end := list[len(list)-1].(object)
	switch str(end, "type") {
	case "thinking", "redacted_thinking":
		return broken("anthropic.last", path, "ends with thinking")
	case "text":
		if t := str(end, "text"); last && t != strings.TrimRight(t, " \t\r\n") {
			return broken("anthropic.trailing", path, "is the last and ends with white space: %q", t)
		}
	}
	return nil
}

// list checks a content: a text, or a list of the blocks that the owner may have.
func (c *claude) list(path, owner string, v any) error {
	if s, ok := v.(string); ok {
		if blank(s) {
			return broken("anthropic.text", path, "has a blank content")
		}
		return nil
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return broken("anthropic.shape", path, "has no content")
	}
	results := true
	for i, v := range list {
		p := at(path+".content", i)
		b, ok := v.(object)
		if !ok {
			return broken("anthropic.block", p, "is no object")
		}
		kind := str(b, "type")
		if !slices.Contains(blocks[owner], kind) {
			return broken("anthropic.block", p, "of type %q has no place in %s", kind, owner)
		}
		if kind == "tool_result" {
			if !results {
				return broken("anthropic.results", p, "comes after other content")
			}
		} else {
			results = false
		}
		if err := c.block(p, kind, b); err != nil {
			return err
		}
	}
	return nil
}

// blockKeys are the keys of the blocks that are made here; others are sent as they came.
var blockKeys = map[string][]string{
	"text":              {"type", "text", "citations", "cache_control"},
	"thinking":          {"type", "thinking", "signature"},
	"redacted_thinking": {"type", "data"},
	"tool_use":          {"type", "id", "name", "input", "cache_control", "caller", "toolset_name"},
	"tool_result":       {"type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"},
	"image":             {"type", "source", "cache_control", "transformations"},
	"document":          {"type", "source", "title", "context", "citations", "cache_control"},
}

func (c *claude) block(path, kind string, b object) error {
	if keys, ok := blockKeys[kind]; ok {
		if k := onlyKeys(b, keys...); k != "" {
			return broken("anthropic.block", path, "of type %s has the key %q", kind, k)
		}
	}
	for k, v := range b {
		if v == nil && k != "cache_control" {
			return broken("anthropic.block", path, "has a null %s", k)
		}
	}
	if b["cache_control"] != nil {
		c.cached++
	}
	switch kind {
	case "text":
		if blank(str(b, "text")) {
			return broken("anthropic.text", path, "is blank")
		}
	case "thinking":
		if _, ok := b["thinking"].(string); !ok || str(b, "signature") == "" {
			return broken("anthropic.thinking", path, "has no thinking or no signature")
		}
	case "redacted_thinking":
		if str(b, "data") == "" {
			return broken("anthropic.thinking", path, "has no data")
		}
	case "tool_use":
		id := str(b, "id")
		if !plain(id, 1<<10) {
			return broken("anthropic.id", path, "has the id %q", id)
		}
		if c.ids[id] {
			return broken("anthropic.unique", path, "has an id that is in use: %q", id)
		}
		c.ids[id] = true
		if !plain(str(b, "name"), 128) {
			return broken("anthropic.name", path, "has the name %q", b["name"])
		}
		if _, ok := b["input"].(object); !ok {
			return broken("anthropic.input", path, "has an input that is no object: %v", b["input"])
		}
	case "tool_result":
		i := slices.Index(c.open, str(b, "tool_use_id"))
		if i < 0 {
			return broken("anthropic.results", path, "answers %q, open are %q", b["tool_use_id"], c.open)
		}
		c.open = slices.Delete(c.open, i, i+1)
		if v, ok := b["is_error"]; ok && v != true && v != false {
			return broken("anthropic.block", path, "has an is_error that is no boolean")
		}
		if v, ok := b["content"]; ok {
			return c.list(path, "tool_result", v)
		}
	case "image":
		return source("anthropic.image", path, b, imageTypes)
	case "document":
		return source("anthropic.document", path, b, []string{"application/pdf"})
	}
	return nil
}

func source(rule, path string, b object, types []string) error {
	s, _ := b["source"].(object)
	switch str(s, "type") {
	case "base64":
		if !slices.Contains(types, str(s, "media_type")) {
			return broken(rule, path, "has the media type %q", s["media_type"])
		}
		if d, err := base64.StdEncoding.DecodeString(str(s, "data")); err != nil || len(d) == 0 {
			return broken(rule, path, "has data that is not base64")
		}
	case "url":
		if !strings.HasPrefix(str(s, "url"), "https://") && !strings.HasPrefix(str(s, "url"), "http://") {
			return broken(rule, path, "has the URL %q", s["url"])
		}
	case "file":
		if str(s, "file_id") == "" {
			return broken(rule, path, "has no file_id")
		}
	case "text":
		if rule != "anthropic.document" || str(s, "media_type") != "text/plain" || str(s, "data") == "" {
			return broken(rule, path, "has a text for a source: %v", s)
		}
	case "content":
		if rule != "anthropic.document" {
			return broken(rule, path, "has content for a source")
		}
	default:
		return broken(rule, path, "has no source")
	}
	return nil
}
