// Package chatcheck says whether a list of messages is one that a chat-completions API
// takes. It looks at the JSON alone and shares no code with what makes such lists, so
// that tests can hold one against the other.
package chatcheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// List returns nil if list is a JSON array of messages that a chat-completions API
// takes, else the first reason why it is not.
func List(list []byte) error {
	if !utf8.Valid(list) {
		return errors.New("the list is not valid UTF-8")
	}
	var raw []map[string]json.RawMessage
	if err := json.Unmarshal(list, &raw); err != nil {
		return fmt.Errorf("the list is no array of objects: %w", err)
	}
	var open []string // ids of the calls that the next messages must answer
	for i, m := range raw {
		if m == nil {
			return fmt.Errorf("message %d is null", i)
		}
		role, calls, answers, err := message(m)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if role == "tool" {
			at := slices.Index(open, answers)
			if at < 0 {
				return fmt.Errorf("message %d answers %q, which the last calls do not have open: %q", i, answers, open)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d of role %s comes before the calls %q are answered", i, role, open)
		}
		open = calls
	}
	if len(open) > 0 {
		return fmt.Errorf("the list ends before the calls %q are answered", open)
	}
	return nil
}

// keys are those that a message of each role may have.
var keys = map[string][]string{
	"system":    {"role", "content", "name"},
	"developer": {"role", "content", "name"},
	"user":      {"role", "content", "name"},
	"assistant": {"role", "content", "name", "tool_calls", "refusal", "audio"},
	"tool":      {"role", "content", "name", "tool_call_id"},
}

// parts are the types of part that the content of each role may have.
var parts = map[string][]string{
	"system":    {"text"},
	"developer": {"text"},
	"user":      {"text", "image_url", "input_audio", "file"},
	"assistant": {"text", "refusal"},
	"tool":      {"text"},
}

func message(m map[string]json.RawMessage) (role string, calls []string, answers string, err error) {
	if role, err = text(m, "role"); err != nil {
		return "", nil, "", err
	}
	allowed, ok := keys[role]
	if !ok {
		return "", nil, "", fmt.Errorf("unknown role %q", role)
	}
	for k, v := range m {
		if !slices.Contains(allowed, k) {
			return "", nil, "", fmt.Errorf("role %s has no key %q", role, k)
		}
		if k != "content" && string(v) == "null" {
			return "", nil, "", fmt.Errorf("%s is null", k)
		}
	}
	if _, ok := m["name"]; ok {
		if name, err := text(m, "name"); err != nil || name == "" {
			return "", nil, "", fmt.Errorf("name is empty or no text: %s", m["name"])
		}
	}
	if role == "tool" {
		if answers, err = text(m, "tool_call_id"); err != nil {
			return "", nil, "", err
		}
		if answers == "" {
			return "", nil, "", errors.New("tool_call_id is empty")
		}
	}
	if raw, ok := m["tool_calls"]; ok {
		if calls, err = toolCalls(raw); err != nil {
			return "", nil, "", err
		}
	}
	return role, calls, answers, content(role, m)
}

func content(role string, m map[string]json.RawMessage) error {
	raw, ok := m["content"]
	if !ok {
		return errors.New("no content")
	}
	said := m["tool_calls"] != nil || m["refusal"] != nil || m["audio"] != nil
	switch raw[0] {
	case 'n':
		if role != "assistant" || !said {
			return fmt.Errorf("content is null for role %s, and nothing stands for it", role)
		}
	case '"':
		if role == "assistant" && !said && string(raw) == `""` {
			return errors.New("an assistant that says nothing")
		}
	case '[':
		var list []map[string]json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return fmt.Errorf("content: %w", err)
		}
		if len(list) == 0 {
			return errors.New("content is an empty list")
		}
		for i, p := range list {
			if err := part(role, p); err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
		}
	default:
		return fmt.Errorf("content is neither null, text nor list: %s", raw)
	}
	return nil
}

func part(role string, p map[string]json.RawMessage) error {
	kind, err := text(p, "type")
	if err != nil {
		return err
	}
	if !slices.Contains(parts[role], kind) {
		return fmt.Errorf("role %s takes no part of type %q", role, kind)
	}
	for k, v := range p {
		if string(v) == "null" {
			return fmt.Errorf("%s is null", k)
		}
	}
	switch kind {
	case "text", "refusal":
		if s, err := text(p, kind); err != nil || s == "" {
			return fmt.Errorf("%s is empty or no text: %s", kind, p[kind])
		}
	case "image_url":
		var image struct{ URL string }
		if raw := p["image_url"]; len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &image) != nil || image.URL == "" {
			return fmt.Errorf("image_url is no object with a url: %s", p["image_url"])
		}
	}
	return nil
}

func toolCalls(raw json.RawMessage) ([]string, error) {
	var calls []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &calls); err != nil {
		return nil, fmt.Errorf("tool_calls: %w", err)
	}
	if len(calls) == 0 {
		return nil, errors.New("tool_calls is empty")
	}
	var ids []string
	for i, c := range calls {
		id, err := text(c, "id")
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
		if id == "" || slices.Contains(ids, id) {
			return nil, fmt.Errorf("call %d: the id %q is empty or there twice", i, id)
		}
		ids = append(ids, id)
		kind, err := text(c, "type")
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
		input, ok := map[string]string{"function": "arguments", "custom": "input"}[kind]
		if !ok {
			return nil, fmt.Errorf("call %d: unknown type %q", i, kind)
		}
		var body map[string]json.RawMessage
		if err := json.Unmarshal(c[kind], &body); err != nil {
			return nil, fmt.Errorf("call %d: %s: %w", i, kind, err)
		}
		if name, err := text(body, "name"); err != nil || name == "" {
			return nil, fmt.Errorf("call %d: name is empty or no text: %s", i, body["name"])
		}
		if _, err := text(body, input); err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
	}
	return ids, nil
}

func text(m map[string]json.RawMessage, key string) (string, error) {
	raw, ok := m[key]
	if !ok {
		return "", fmt.Errorf("no %s", key)
	}
	if raw[0] != '"' {
		return "", fmt.Errorf("%s is no text: %s", key, raw)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return s, nil
}
