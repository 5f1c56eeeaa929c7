package wire_test

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/sessionstore/sessionstore"
	"github.com/sessionstore/sessionstore/internal/stories"
	"github.com/sessionstore/sessionstore/internal/wire"
)

const png = stories.PNG

// Field report C35: an image's URL, data and media type are not mixed up.
func TestImageURLs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url  string
		want wire.Media // Kind "" for one that is malformed
	}{
		{"https://example.com/a.png", wire.Media{Kind: wire.Image, URL: "https://example.com/a.png"}},
		{"http://example.com/a?b=data:image/png;base64,xx", wire.Media{Kind: wire.Image, URL: "http://example.com/a?b=data:image/png;base64,xx"}},
		{"HTTPS://EXAMPLE.COM/A", wire.Media{Kind: wire.Image, URL: "https://EXAMPLE.COM/A"}},
		{"data:image/png;base64," + png, wire.Media{Kind: wire.Image, MIME: "image/png", Data: png}},
		{"DATA:IMAGE/PNG;BASE64," + png, wire.Media{Kind: wire.Image, MIME: "image/png", Data: png}},
		{"data:image/jpg;base64," + png, wire.Media{Kind: wire.Image, MIME: "image/jpeg", Data: png}},
		{"data:image/png;charset=utf-8;base64," + png, wire.Media{Kind: wire.Image, MIME: "image/png", Data: png}},
		{"data:image/svg+xml,%3Csvg/%3E", wire.Media{Kind: wire.Image, MIME: "image/svg+xml", Data: "PHN2Zy8+"}},
		{"data:;base64," + png, wire.Media{}},
		{"data:image/png;base64", wire.Media{}},
		{"data:image/png;base64,", wire.Media{}},
		{"data:image/png;base64,***", wire.Media{}},
		{"data:image/png,", wire.Media{}},
		{"data:,x", wire.Media{}},
		{"data", wire.Media{}},
		{"", wire.Media{}},
		{"/etc/passwd", wire.Media{}},
		{"file:///etc/passwd", wire.Media{}},
		{"https://", wire.Media{}},
		{png, wire.Media{}},
	} {
		got, err := wire.ParseMedia(sessionstore.ImagePart(c.url))
		if c.want.Kind == "" {
			if !errors.Is(err, sessionstore.ErrInvalid) {
				t.Errorf("ParseMedia(%.60q) = %+v, %v, want ErrInvalid", c.url, got, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("ParseMedia(%.60q) = %+v, %v, want %+v", c.url, got, err, c.want)
			continue
		}
		if got.Data != "" {
			again, err := wire.ParseMedia(sessionstore.ImagePart(got.DataURL()))
			if err != nil || again != got {
				t.Errorf("ParseMedia(%.60q) = %+v, %v, want %+v again", got.DataURL(), again, err, got)
			}
		}
	}
}

func TestMediaOfEveryShape(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]wire.Media{
		`{"type":"image_url","image_url":{"url":"https://example.com/a","detail":"low"}}`:               {Kind: wire.Image, URL: "https://example.com/a", Detail: "low"},
		`{"type":"input_image","image_url":"https://example.com/a","detail":"high"}`:                    {Kind: wire.Image, URL: "https://example.com/a", Detail: "high", FileOf: wire.OpenAI},
		`{"type":"input_image","file_id":"f"}`:                                                          {Kind: wire.Image, FileID: "f", FileOf: wire.OpenAI},
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}`:     {Kind: wire.Image, MIME: "image/png", Data: png},
		`{"type":"image","source":{"type":"url","url":"https://example.com/a"}}`:                        {Kind: wire.Image, URL: "https://example.com/a"},
		`{"type":"image","source":{"type":"file","file_id":"f"}}`:                                       {Kind: wire.Image, FileID: "f", FileOf: wire.Anthropic},
		`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"},"title":"t"}`: {Kind: wire.File, MIME: "text/plain", Text: "x", Name: "t"},
		`{"type":"document","source":{"type":"content","content":[]}}`:                                  {Kind: wire.Other},
		`{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"mp3"}}`:                       {Kind: wire.Audio, MIME: "audio/mp3", Data: "UklGRg=="},
		`{"type":"file","file":{"file_id":"f","filename":"n"}}`:                                         {Kind: wire.File, FileID: "f", FileOf: wire.OpenAI, Name: "n"},
		`{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERi0=","filename":"n"}}`:    {Kind: wire.File, MIME: "application/pdf", Data: "JVBERi0=", FileOf: wire.OpenAI, Name: "n"},
		`{"type":"file","file":{"file_data":"JVBERi0="}}`:                                               {Kind: wire.File, MIME: "application/pdf", Data: "JVBERi0=", FileOf: wire.OpenAI},
		`{"type":"input_file","file_url":"https://example.com/a.pdf"}`:                                  {Kind: wire.File, URL: "https://example.com/a.pdf", FileOf: wire.OpenAI},
		`{"type":"video","url":"x"}`:                                                                    {Kind: wire.Other},
		`{}`:                                                                                            {Kind: wire.Other},
	} {
		if got, err := wire.ParseMedia(stories.Part(raw)); err != nil || got != want {
			t.Errorf("ParseMedia(%s) = %+v, %v, want %+v", raw, got, err, want)
		}
	}
	for _, raw := range []string{
		`{"type":"image_url","image_url":null}`,
		`{"type":"image_url"}`,
		`{"type":"input_image"}`,
		`{"type":"image"}`,
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"*"}}`,
		`{"type":"image","source":{"type":"file"}}`,
		`{"type":"image","source":{"type":"magic"}}`,
		`{"type":"document","source":null}`,
		`{"type":"input_audio","input_audio":{"data":"","format":"wav"}}`,
		`{"type":"file","file":{}}`,
		`{"type":"input_file"}`,
	} {
		if got, err := wire.ParseMedia(stories.Part(raw)); !errors.Is(err, sessionstore.ErrInvalid) {
			t.Errorf("ParseMedia(%s) = %+v, %v, want ErrInvalid", raw, got, err)
		}
	}
}

func FuzzMedia(f *testing.F) {
	f.Add("https://example.com/a.png")
	f.Add("data:image/png;base64," + png)
	f.Add("data:;,")
	f.Add("data:image/svg+xml,%zz")
	f.Fuzz(func(t *testing.T, url string) {
		if !utf8.ValidString(url) {
			return // no store takes such a part
		}
		m, err := wire.ParseMedia(sessionstore.ImagePart(url))
		if err != nil {
			if !errors.Is(err, sessionstore.ErrInvalid) {
				t.Fatalf("ParseMedia(%q) = %v, want ErrInvalid", url, err)
			}
			return
		}
		if (m.URL == "") == (m.Data == "") {
			t.Fatalf("ParseMedia(%q) = %+v, want one of URL and Data", url, m)
		}
	})
}
