package wirecheck

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
)

var geminiRules = []Rule{
	{ID: "gemini.shape", Source: geminiContent},
	{ID: "gemini.roles", Source: geminiContent},
	{ID: "gemini.part", Source: geminiContent},
	{ID: "gemini.text", Source: geminiContent, Unverified: true},
	{ID: "gemini.calls", Source: "function call turn comes immediately after a user turn or after a function response turn", Unverified: true},
	{ID: "gemini.responses", Source: "number of function response parts is equal to the number of function call parts", Unverified: true},
	{ID: "gemini.alone", Source: geminiFunctions, Unverified: true}, // a function response turn has nothing else
	{ID: "gemini.name", Source: geminiFunctions},
	{ID: "gemini.object", Source: geminiFunctions},
	{ID: "gemini.signature", Source: geminiThoughts},
	{ID: "gemini.media", Source: geminiContent},
}

// geminiData are the keys of which a part has exactly one.
var geminiData = []string{"text", "inlineData", "fileData", "functionCall", "functionResponse",
	"executableCode", "codeExecutionResult", "toolCall", "toolResponse"}

var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)

// Gemini checks the "systemInstruction" and "contents" of a generateContent request.
func Gemini(request []byte) error {
	v, err := parse("gemini.shape", request)
	if err != nil {
		return err
	}
	req, ok := v.(object)
	if !ok {
		return broken("gemini.shape", "request", "is no object")
	}
	if s, ok := req["systemInstruction"]; ok {
		c, _ := s.(object)
		parts, _ := c["parts"].([]any)
		if len(parts) == 0 {
			return broken("gemini.shape", "systemInstruction", "has no parts")
		}
		for i, p := range parts {
			if q, ok := p.(object); !ok || blank(str(q, "text")) {
				return broken("gemini.text", at("systemInstruction", i), "is no text")
			}
		}
	}
	contents, ok := req["contents"].([]any)
	if !ok || len(contents) == 0 {
		return broken("gemini.shape", "contents", "is no list, or empty")
	}
	var open []object // function calls of the turn before
	role := ""
	for i, v := range contents {
		path := at("contents", i)
		c, ok := v.(object)
		parts, _ := c["parts"].([]any)
		if !ok || len(parts) == 0 {
			return broken("gemini.shape", path, "has no parts")
		}
		before := role
		if role = str(c, "role"); role != "user" && role != "model" {
			return broken("gemini.roles", path, "has the role %q", role)
		}
		var calls, answers []object
		for j, p := range parts {
			q := at(path+".parts", j)
			part, ok := p.(object)
			if !ok {
				return broken("gemini.part", q, "is no object")
			}
			if err := geminiPart(q, role, part); err != nil {
				return err
			}
			if f, ok := part["functionCall"].(object); ok {
				calls = append(calls, f)
			}
			if f, ok := part["functionResponse"].(object); ok {
				answers = append(answers, f)
			}
		}
		if len(calls) > 0 && before != "user" {
			return broken("gemini.calls", path, "calls functions, but follows no user turn")
		}
		if before == "" && role != "user" || before == "model" && role == "model" {
			return broken("gemini.roles", path, "of the %s follows %q", role, before)
		}
		if len(answers) > 0 && len(answers) != len(parts) {
			return broken("gemini.alone", path, "has other parts beside function responses")
		}
		if len(answers) != len(open) {
			return broken("gemini.responses", path, "has %d function responses for %d calls", len(answers), len(open))
		}
		for _, a := range answers {
			at := slices.IndexFunc(open, func(c object) bool {
				return str(c, "name") == str(a, "name") && str(c, "id") == str(a, "id")
			})
			if at < 0 {
				return broken("gemini.responses", path, "answers %v, open are %v", a, open)
			}
			open = slices.Delete(open, at, at+1)
		}
		open = calls
	}
	if len(open) > 0 {
		return broken("gemini.responses", "contents", "leave calls unanswered: %v", open)
	}
	return nil
}

func geminiPart(path, role string, p object) error {
	n := 0
	for _, k := range geminiData {
		if has(p, k) {
			n++
		}
	}
	if n != 1 && (n != 0 || str(p, "thoughtSignature") == "") {
		return broken("gemini.part", path, "has %d kinds of data: %v", n, p)
	}
	if has(p, "text") && blank(str(p, "text")) && !has(p, "thoughtSignature") {
		return broken("gemini.text", path, "is blank")
	}
	if s, ok := p["thoughtSignature"]; ok {
		text, _ := s.(string)
		if _, err := base64.StdEncoding.DecodeString(text); err != nil || text == "" || role != "model" {
			return broken("gemini.signature", path, "has the signature %v", s)
		}
	}
	for key, owner := range map[string]string{"functionCall": "model", "functionResponse": "user"} {
		f, ok := p[key].(object)
		if !ok {
			continue
		}
		if role != owner {
			return broken("gemini.part", path, "%s in a turn of the %s", key, role)
		}
		if !geminiName.MatchString(str(f, "name")) {
			return broken("gemini.name", path, "has the name %q", f["name"])
		}
		if _, ok := f["response"].(object); key == "functionResponse" && !ok {
			return broken("gemini.object", path, "has a response that is no object")
		}
		if _, ok := f["args"].(object); key == "functionCall" && has(f, "args") && !ok {
			return broken("gemini.object", path, "has args that are no object")
		}
	}
	if m, ok := p["inlineData"].(object); ok {
		d, err := base64.StdEncoding.DecodeString(str(m, "data"))
		if err != nil || len(d) == 0 || !strings.Contains(str(m, "mimeType"), "/") {
			return broken("gemini.media", path, "has data that is not base64, or no type")
		}
	}
	if m, ok := p["fileData"].(object); ok && (str(m, "fileUri") == "" || !strings.Contains(str(m, "mimeType"), "/")) {
		return broken("gemini.media", path, "has no fileUri, or no type")
	}
	return nil
}
