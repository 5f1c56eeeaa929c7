package wirecheck

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sessionstore/sessionstore/internal/chatcheck"
)

var chatRules = []Rule{
	{ID: "chat.list", Source: openaiChat}, // all that chatcheck checks: roles, keys, pairing, texts
	{ID: "chat.empty", Source: openaiChat},
	{ID: "chat.id", Source: "tool_calls[0].id: string too long. Expected a string with maximum length 40", Unverified: true},
	{ID: "chat.tool", Source: openaiFunctions},
	{ID: "chat.name", Source: "messages.name: string does not match pattern '^[^\\s<|\\\\/>]+$'", Unverified: true},
	{ID: "chat.part", Source: openaiChat},
	{ID: "chat.image", Source: openaiVision},
	{ID: "chat.audio", Source: openaiAudio},
}

var chatName = regexp.MustCompile(`^[^\s<|\\/>]{1,64}$`)

var chatParts = map[string][]string{
	"text":        {"type", "text"},
	"refusal":     {"type", "refusal"},
	"image_url":   {"type", "image_url"},
	"input_audio": {"type", "input_audio"},
	"file":        {"type", "file"},
}

// Chat checks the "messages" of a Chat Completions request.
func Chat(messages []byte) error {
	if err := chatcheck.List(messages); err != nil {
		return broken("chat.list", "messages", "%v", err)
	}
	v, err := parse("chat.list", messages)
	if err != nil {
		return err
	}
	list, _ := v.([]any)
	if len(list) == 0 {
		return broken("chat.empty", "messages", "are none")
	}
	for i, v := range list {
		m, path := v.(object), at("messages", i)
		if has(m, "name") && !chatName.MatchString(str(m, "name")) {
			return broken("chat.name", path, "has the name %q", m["name"])
		}
		if len(str(m, "tool_call_id")) > 40 {
			return broken("chat.id", path, "answers an id of more than 40 characters")
		}
		if a, ok := m["audio"].(object); ok && (str(a, "id") == "" || onlyKeys(a, "id") != "") {
			return broken("chat.audio", path, "has more audio than an id")
		}
		calls, _ := m["tool_calls"].([]any)
		for j, v := range calls {
			if err := chatCall(at(path+".tool_calls", j), v.(object)); err != nil {
				return err
			}
		}
		parts, _ := m["content"].([]any)
		for j, v := range parts {
			if err := chatPart(at(path+".content", j), v.(object)); err != nil {
				return err
			}
		}
	}
	return nil
}

func chatCall(path string, c object) error {
	if len(str(c, "id")) > 40 {
		return broken("chat.id", path, "has an id of more than 40 characters")
	}
	kind := str(c, "type")
	if k := onlyKeys(c, "id", "type", kind); k != "" {
		return broken("chat.tool", path, "has the key %q", k)
	}
	f, _ := c[kind].(object)
	if k := onlyKeys(f, "name", "arguments", "input"); k != "" || !plain(str(f, "name"), 64) {
		return broken("chat.tool", path, "has the name %q, and the key %q", f["name"], k)
	}
	if kind == "function" && blank(str(f, "arguments")) {
		return broken("chat.tool", path, "has no arguments")
	}
	return nil
}

func chatPart(path string, p object) error {
	kind := str(p, "type")
	if k := onlyKeys(p, chatParts[kind]...); k != "" {
		return broken("chat.part", path, "of type %s has the key %q", kind, k)
	}
	switch kind {
	case "image_url":
		image, _ := p["image_url"].(object)
		return imageURL("chat.image", path, str(image, "url"))
	case "input_audio":
		a, _ := p["input_audio"].(object)
		if f := str(a, "format"); f != "wav" && f != "mp3" {
			return broken("chat.audio", path, "has the format %q", f)
		}
		if _, err := base64.StdEncoding.DecodeString(str(a, "data")); err != nil || str(a, "data") == "" {
			return broken("chat.audio", path, "has data that is not base64")
		}
	case "file":
		f, _ := p["file"].(object)
		if str(f, "file_id") == "" && str(f, "file_data") == "" {
			return broken("chat.part", path, "has neither file_id nor file_data")
		}
		if _, _, ok := dataURL(str(f, "file_data")); has(f, "file_data") && (!ok || str(f, "filename") == "") {
			return broken("chat.part", path, "has file_data that is no data URL, or no filename")
		}
	}
	return nil
}

// imageURL checks the URL of an image: data: of a type that is taken, or http.
func imageURL(rule, path, url string) error {
	if strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") {
		return nil
	}
	mime, data, ok := dataURL(url)
	if !ok || !slices.Contains(imageTypes, mime) {
		return broken(rule, path, "has an image of type %q, or no URL", mime)
	}
	if d, err := base64.StdEncoding.DecodeString(data); err != nil || len(d) == 0 {
		return broken(rule, path, "has data that is not base64")
	}
	return nil
}

func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
