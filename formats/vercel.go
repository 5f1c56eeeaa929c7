package formats

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/wire"
)

// decodeVercel reads one conversation of UIMessages of the AI SDK, version 5 and up or 4:
//
//   - a list of them;
//   - an object with such a list under messages, and perhaps the chat's id.
//
// A user's or system message becomes one message. An assistant's is cut into the steps
// that the model took, at step-start, and in version 4 also where something follows a
// call: each becomes an assistant message with the calls of the step, and a tool message
// for each result. The first has the id of the UIMessage, the others that with -2, -3 and
// so on. An object as metadata becomes Message.Metadata.
//
//   - Text, reasoning, data and sources become parts; a text that stands alone becomes a
//     string.
//   - An image becomes an image_url, another file a part of type file, or input_file if its
//     URL is not a data one.
//   - A call with its output, in the state output-available, output-error or output-denied
//     (result in version 4), becomes a tool call and its result, the latter two with
//     is_error. A call that is not complete is not one: it still streams, waits for its
//     tool, for an approval, or has a preliminary output. Replaying it could run a tool
//     that nobody has approved.
//
// What has no field here is kept as it is spelled: of the record as an object under
// Session.Extra["vercel"], of a UIMessage under Message.Extra["vercel"] of the first
// message that it became. There, and in those of later steps, "parts" has what is left of
// each part of the step, such as its providerMetadata, and calls that are not complete
// as a whole; it is missing if nothing is left of any.
func decodeVercel(text string, b *builder) error {
	d := &vercel{builder: b}
	if isArray(text) {
		return d.list(text)
	}
	record, ok := parseObject(text)
	if !ok || !record.has("messages") {
		return invalid("record", "is neither a list of messages nor an object with one")
	}
	if id, _ := record.text("id"); id != "" {
		d.name = id
	}
	d.session.Extra = extraUnder("vercel", record.without("messages"))
	return d.list(record.get("messages"))
}

// isUIMessage reports whether text is a message rather than a record: a file may be one
// list of messages.
func isUIMessage(text string) bool {
	o, ok := parseObject(text)
	return ok && o.has("role") && !o.has("messages")
}

type vercel struct {
	*builder

	// What the present UIMessage becomes.
	id       string
	at       time.Time
	metadata sessionstore.Metadata
	role     sessionstore.Role
	old      bool // it is of version 4
	made     int  // messages so far
	rest     object

	// The present step.
	said    wire.Answer
	results []sessionstore.Message
	left    []object // of its parts
	some    bool     // there is a part
	keep    bool     // something is left of one
	number  string   // of the step, in version 4
}

func (d *vercel) list(text string) error {
	if !isArray(text) {
		return invalid("messages", "is not a list")
	}
	i := 0
	for e := range elements(text) {
		if err := d.message(e); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		i++
	}
	return nil
}

func (d *vercel) message(text string) error {
	o, ok := parseObject(text)
	if !ok {
		return invalid("message", "is not an object")
	}
	role, _ := o.text("role")
	d.role = sessionstore.Role(role)
	switch d.role {
	case sessionstore.RoleSystem, sessionstore.RoleUser, sessionstore.RoleAssistant:
	default:
		return invalid("role", fmt.Sprintf("unknown role %q", clip(role)))
	}
	if d.id, ok = o.text("id"); !ok {
		return invalid("id", "is not a string")
	}
	var err error
	if d.at, err = jsTime("createdAt", o.get("createdAt")); err != nil {
		return err
	}
	d.made = 0
	d.rest = o.drop("id", "role", "parts", "createdAt")
	if d.metadata, err = vercelMetadata(o.get("metadata")); err != nil {
		return err
	}
	if d.metadata != nil {
		d.rest = d.rest.drop("metadata")
	}
	parts := o.get("parts")
	if parts != "" && !isArray(parts) {
		return invalid("parts", "is not a list")
	}
	d.old = o.has("content") || o.has("toolInvocations")
	if d.old {
		d.rest = d.rest.drop("content", "toolInvocations")
	}
	if parts == "" || parts == "[]" {
		err = d.flat(o)
	} else {
		i := 0
		for e := range elements(parts) {
			if err := d.part(e); err != nil {
				return fmt.Errorf("parts[%d]: %w", i, err)
			}
			i++
		}
	}
	if err == nil {
		err = d.attachments(o.get("experimental_attachments"))
	}
	if err != nil {
		return err
	}
	if d.made > 0 && !d.some {
		return nil
	}
	return d.step()
}

// vercelMetadata returns nil for a value that Message.Metadata cannot hold.
func vercelMetadata(text string) (sessionstore.Metadata, error) {
	if _, ok := parseObject(text); !ok {
		return nil, nil
	}
	m, err := decodeMessage(`{"metadata":` + text + `}`)
	if err != nil {
		return nil, err
	}
	return m.Metadata, nil
}

// jsTime reads a time of ISO 8601, or in milliseconds since 1970. Without one it is zero.
func jsTime(field, text string) (time.Time, error) {
	if text == "" || text[0] == '"' {
		return isoTime(field, text)
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, invalid(field, "is neither a time of ISO 8601 nor a number of milliseconds")
	}
	return time.UnixMilli(ms).UTC(), nil
}

// flat reads a message of version 4 that has no parts: its reasoning, the calls of each
// step, and the text, which was said with the calls if these are of one step.
func (d *vercel) flat(o object) error {
	if s, ok := o.text("reasoning"); ok && s != "" {
		p, err := sessionstore.ParsePart(object{{"type", `"reasoning"`}, {"text", o.get("reasoning")}}.without())
		if err != nil {
			return err
		}
		d.rest = d.rest.drop("reasoning")
		d.say(p)
	}
	text, ok := o.text("content")
	if !ok {
		return d.contentParts(o.get("content"))
	}
	invocations := o.get("toolInvocations")
	if invocations != "" && !isArray(invocations) {
		return invalid("toolInvocations", "is not a list")
	}
	several, last := false, ""
	i := 0
	for e := range elements(invocations) {
		call, _ := parseObject(e)
		several = several || i > 0 && call.get("step") != last
		last = call.get("step")
		i++
	}
	if text != "" && !several {
		d.say(sessionstore.TextPart(text))
	}
	i = 0
	for e := range elements(invocations) {
		call, ok := parseObject(e)
		if !ok {
			return invalid(fmt.Sprintf("toolInvocations[%d]", i), "is not an object")
		}
		if err := d.invocation(call, object{{"type", `"tool-invocation"`}}); err != nil {
			return fmt.Errorf("toolInvocations[%d]: %w", i, err)
		}
		i++
	}
	if text != "" && several {
		if err := d.step(); err != nil {
			return err
		}
		d.say(sessionstore.TextPart(text))
	}
	return nil
}

// contentParts reads a content that is a list, as model messages have it: only texts of it
// are of this format.
func (d *vercel) contentParts(list string) error {
	if !isArray(list) {
		return invalid("content", "is not a string")
	}
	i := 0
	for e := range elements(list) {
		if err := d.part(e); err != nil {
			return fmt.Errorf("content[%d]: %w", i, err)
		}
		i++
	}
	return nil
}

// attachments reads the files that messages of version 4 have beside their text.
func (d *vercel) attachments(list string) error {
	if list == "" {
		return nil
	}
	if !isArray(list) {
		return invalid("experimental_attachments", "is not a list")
	}
	i := 0
	for e := range elements(list) {
		o, ok := parseObject(e)
		url, isURL := o.text("url")
		kind, isKind := o.text("contentType")
		name, isName := o.text("name")
		if !ok || !isURL || !isKind || !isName {
			return invalid(fmt.Sprintf("experimental_attachments[%d]", i), "is not an object with a url, contentType and name that are strings")
		}
		if !d.file(kind, name, url, o.drop("url").set("type", `"file"`)) {
			d.keepWhole(o.set("type", `"file"`))
		}
		i++
	}
	d.rest = d.rest.drop("experimental_attachments")
	return nil
}

func (d *vercel) part(text string) error {
	o, ok := parseObject(text)
	if !ok {
		return invalid("part", "is not an object")
	}
	kind, ok := o.text("type")
	if !ok || kind == "" {
		return invalid("type", "is missing, or not a string")
	}
	switch {
	case kind == "step-start":
		if d.some {
			return d.step()
		}
		return nil
	case kind == "tool-invocation":
		call, ok := parseObject(o.get("toolInvocation"))
		if !ok {
			return invalid("toolInvocation", "is not an object")
		}
		return d.invocation(call, o.drop("toolInvocation"))
	case kind == "dynamic-tool", strings.HasPrefix(kind, "tool-"):
		return d.tool(kind, o)
	}
	if d.old && len(d.results) > 0 {
		if err := d.step(); err != nil {
			return err
		}
	}
	switch kind {
	case "text":
		s, ok := o.text("text")
		if !ok {
			return invalid("text", "is not a string")
		}
		if state, _ := o.text("state"); state == "done" {
			o = o.drop("state")
		}
		if len(o) == 2 && o.has("text") {
			d.say(sessionstore.TextPart(s))
			return nil
		}
	case "file":
		url, isURL := o.text("url")
		mime, isKind := o.text("mediaType")
		if mime == "" {
			mime, isKind = o.text("mimeType")
		}
		name, isName := o.text("filename")
		if data, ok := o.text("data"); ok && url == "" && data != "" {
			url = "data:" + mime + ";base64," + data // of version 4
		}
		if !isURL || !isKind || !isName {
			return invalid("file", "has a url, mediaType or filename that is not a string")
		}
		if !d.file(mime, name, url, o.drop("url", "data")) {
			d.keepWhole(o)
		}
		return nil
	}
	p, err := sessionstore.ParsePart(o.without())
	if err != nil {
		return err
	}
	d.say(p)
	return nil
}

// say adds a part to the step that nothing is left of.
func (d *vercel) say(p sessionstore.Part) {
	d.said.Part(p)
	d.leave(object{{"type", quote(p.Type())}}, nil)
}

// file adds a file, of which left is left; it returns false if that is at a place which
// cannot be sent to anyone.
func (d *vercel) file(mime, name, url string, left object) bool {
	data := strings.HasPrefix(url, "data:")
	if !data && !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return false
	}
	if mime == "" && data {
		mime, _, _ = strings.Cut(strings.TrimPrefix(url, "data:"), ";")
	}
	o := wire.Object{}
	if name != "" {
		o = o.SetString("filename", name)
	}
	var p sessionstore.Part
	var err error
	switch {
	case strings.HasPrefix(mime, "image/"):
		p = sessionstore.ImagePart(url)
	case data:
		p, err = wire.Object{}.SetString("type", "file").Set("file", o.SetString("file_data", url).Raw()).Part()
	default:
		p, err = append(wire.Object{}.SetString("type", "input_file").SetString("file_url", url), o...).Part()
	}
	if err != nil {
		return false
	}
	d.said.Part(p)
	d.leave(left, left)
	return true
}

// keepWhole keeps a part that becomes none.
func (d *vercel) keepWhole(o object) { d.leave(o, o) }

// leave notes what is left of a part: bare, and if there is more than its type left, that.
func (d *vercel) leave(bare, left object) {
	d.some = true
	if len(left.drop("type")) > 0 {
		bare, d.keep = left, true
	}
	d.left = append(d.left, bare)
}

// step adds the messages of the present step and begins the next one.
func (d *vercel) step() error {
	m := d.said.Message()
	m.Role, m.Metadata = d.role, d.metadata
	rest := d.rest
	if d.keep {
		rest = rest.set("parts", listOf(d.left))
	}
	m.Extra = withExtra(m.Extra, "vercel", rest)
	results := d.results
	d.said, d.results, d.left, d.some, d.keep = wire.Answer{}, nil, nil, false, false
	d.rest, d.metadata = nil, nil
	if err := d.put(m); err != nil {
		return err
	}
	for _, r := range results {
		if err := d.put(r); err != nil {
			return err
		}
	}
	return nil
}

func (d *vercel) put(m sessionstore.Message) error {
	d.made++
	m.CreatedAt = d.at
	if m.ID = d.id; m.ID != "" && d.made > 1 {
		m.ID += "-" + strconv.Itoa(d.made)
	}
	return d.add(m)
}
