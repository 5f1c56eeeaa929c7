package wire

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/sessionstore/sessionstore"
)

// Kind says what an attachment is.
type Kind string

// The kinds of attachment. Other is one that no format here knows.
const (
	Image Kind = "image"
	Audio Kind = "audio"
	File  Kind = "file"
	Other Kind = "attachment"
)

// Media is an attachment, whichever provider's shape it is stored in. One of Data, URL,
// FileID and Text says where it is; Other has none.
type Media struct {
	Kind   Kind
	MIME   string // media type, in lower case and without parameters; "" if not known
	Data   string // base64, with the standard alphabet and padding
	URL    string // not a data: one
	FileID string // of a file uploaded to the provider FileOf
	FileOf Provider
	Text   string // of a document that is a text
	Name   string // file name or title
	Detail string // OpenAI's image detail
}

// Provider names whose uploaded file an id is of.
type Provider string

// The providers that have uploaded files.
const (
	OpenAI    Provider = "openai"
	Anthropic Provider = "anthropic"
)

// ParseMedia returns the attachment that a part is. Errors: ErrInvalid for one that is
// malformed: no source, or data: that is not what it says.
func ParseMedia(p sessionstore.Part) (Media, error) {
	o := Parse(p.Raw())
	var m Media
	var err error
	switch p.Type() {
	case "image_url":
		m.Kind, m.Detail = Image, o.Object("image_url").String("detail")
		err = m.locate(p.ImageURL())
	case "input_image":
		m = Media{Kind: Image, Detail: o.String("detail"), FileID: o.String("file_id"), FileOf: OpenAI}
		if m.FileID == "" {
			err = m.locate(o.String("image_url"))
		}
	case "image":
		m.Kind = Image
		err = m.source(o.Object("source"))
	case "document":
		m.Kind, m.Name = File, o.String("title")
		err = m.source(o.Object("source"))
	case "input_audio":
		a := o.Object("input_audio")
		m = Media{Kind: Audio, MIME: "audio/" + a.String("format")}
		m.Data, err = checkBase64(a.String("data"))
	case "file", "input_file":
		f := o
		if p.Type() == "file" {
			f = o.Object("file")
		}
		m = Media{Kind: File, Name: f.String("filename"), FileID: f.String("file_id"), FileOf: OpenAI}
		switch data := f.String("file_data"); {
		case m.FileID != "":
		case data != "" && !strings.HasPrefix(data, "data:"):
			m.MIME = "application/pdf"
			m.Data, err = checkBase64(data)
		case data != "":
			err = m.locate(data)
		default:
			err = m.locate(f.String("file_url"))
		}
	default:
		return Media{Kind: Other}, nil
	}
	if err != nil {
		return Media{}, Invalid("content", "has a part of type "+p.Type()+" that "+err.Error())
	}
	return m, nil
}

// source reads the source of an Anthropic image or document.
func (m *Media) source(s Object) error {
	switch s.String("type") {
	case "base64":
		m.MIME = mediaType(s.String("media_type"))
		var err error
		m.Data, err = checkBase64(s.String("data"))
		return err
	case "url":
		return m.locate(s.String("url"))
	case "file":
		m.FileID, m.FileOf = s.String("file_id"), Anthropic
		if m.FileID == "" {
			return malformed("has no file_id")
		}
		return nil
	case "text":
		m.MIME, m.Text = "text/plain", s.String("data")
		return nil
	case "content":
		m.Kind = Other // blocks of its own, for the API that they are from
		return nil
	}
	return malformed("has no source")
}

type malformed string

func (m malformed) Error() string { return string(m) }

// locate reads a URL, which may be a data: one.
func (m *Media) locate(s string) error {
	scheme, rest, ok := strings.Cut(s, ":")
	switch strings.ToLower(scheme) {
	case "data":
		if !ok {
			return malformed("has no URL")
		}
		return m.dataURL(rest)
	case "http", "https", "gs":
		u, err := url.Parse(s)
		if err != nil || u.Host == "" {
			return malformed("has a URL without a host")
		}
		m.URL = strings.ToLower(scheme) + ":" + rest
		return nil
	}
	return malformed("has a URL that is neither http, https nor data")
}

// dataURL reads what follows "data:" (RFC 2397).
func (m *Media) dataURL(s string) error {
	head, data, ok := strings.Cut(s, ",")
	if !ok {
		return malformed("has a data URL without a comma")
	}
	kind, params, _ := strings.Cut(head, ";")
	if m.MIME = mediaType(kind); m.MIME == "" {
		return malformed("has a data URL without a media type")
	}
	base64ed := false
	for p := range strings.SplitSeq(params, ";") {
		base64ed = base64ed || strings.EqualFold(strings.TrimSpace(p), "base64")
	}
	if !base64ed {
		text, err := url.PathUnescape(data)
		if err != nil || text == "" {
			return malformed("has a data URL without data")
		}
		m.Data = base64.StdEncoding.EncodeToString([]byte(text))
		return nil
	}
	var err error
	m.Data, err = checkBase64(data)
	return err
}

func checkBase64(s string) (string, error) {
	if b, err := base64.StdEncoding.DecodeString(s); err != nil || len(b) == 0 {
		return "", malformed("has data that is not base64")
	}
	return s, nil
}

// mediaType returns a media type in lower case and without parameters.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "image/jpg" {
		return "image/jpeg"
	}
	if kind, sub, ok := strings.Cut(s, "/"); !ok || kind == "" || sub == "" {
		return ""
	}
	return s
}

// DataURL returns the data as a data: URL.
func (m Media) DataURL() string { return "data:" + m.MIME + ";base64," + m.Data }

// Document returns a document that is a text, under its name.
func (m Media) Document() string {
	if m.Name == "" {
		return m.Text
	}
	return m.Name + ":\n" + m.Text
}

// Note is the text that stands for an attachment which the model cannot be given.
func (m Media) Note() string {
	what, ok := map[Kind]string{Image: "An image", Audio: "An audio recording", File: "A file"}[m.Kind]
	if !ok {
		what = "An attachment"
	}
	if m.Name != "" {
		what += " (" + string(Quote(m.Name)) + ")"
	}
	return "[" + what + " was left out: it cannot be sent to this model.]"
}

// ImageTypes are the media types of images that models take.
var ImageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// Location returns the URL, or the data as one.
func (m Media) Location() string {
	if m.URL != "" {
		return m.URL
	}
	return m.DataURL()
}

// FileName returns the name, or one made of the media type, for an API that wants one.
func (m Media) FileName() string {
	if m.Name != "" {
		return m.Name
	}
	_, sub, _ := strings.Cut(m.MIME, "/")
	return "file." + sub
}
