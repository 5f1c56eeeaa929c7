package sessionstore

// Stand-ins for the wire form while it is written; this file goes away with it.

import (
	"encoding/json"
	"iter"
)

type Content struct {
	kind  uint8
	text  string
	parts []Part
}
type Part struct{ raw string }
type Metadata map[string]any

func Text(s string) Content                                              { panic("stub") }
func Parts(p ...Part) Content                                            { panic("stub") }
func (c Content) IsNull() bool                                           { panic("stub") }
func (c Content) String() string                                         { panic("stub") }
func (c Content) All() iter.Seq2[int, Part]                              { panic("stub") }
func (c Content) Equal(o Content) bool                                   { panic("stub") }
func (c Content) check(field string) error                               { panic("stub") }
func (c Content) IsText() bool                                           { panic("stub") }
func (c Content) IsParts() bool                                          { panic("stub") }
func ParsePart(raw []byte) (Part, error)                                 { panic("stub") }
func TextPart(s string) Part                                             { panic("stub") }
func ImagePart(url string) Part                                          { panic("stub") }
func (p Part) Type() string                                              { panic("stub") }
func (p Part) Text() string                                              { panic("stub") }
func (p Part) ImageURL() string                                          { panic("stub") }
func (p Part) Raw() json.RawMessage                                      { panic("stub") }
func (m Metadata) Clone() Metadata                                       { panic("stub") }
func (m Metadata) normal(field string) (Metadata, error)                 { panic("stub") }
func (m Metadata) equal(o Metadata) bool                                 { panic("stub") }
func (m Metadata) Int(key string) (int64, bool)                          { panic("stub") }
func (m Metadata) Float(key string) (float64, bool)                      { panic("stub") }
func (m Metadata) String(key string) (string, bool)                      { panic("stub") }
func (m Metadata) Bool(key string) (bool, bool)                          { panic("stub") }
func (m Metadata) Decode(key string, v any) error                        { panic("stub") }
func equalValue(a, b any) bool                                           { panic("stub") }
func cloneExtra(m map[string]json.RawMessage) map[string]json.RawMessage { panic("stub") }
func equalExtra(a, b map[string]json.RawMessage) bool                    { panic("stub") }
func sessionKey(k string) bool                                           { panic("stub") }
func messageKey(k string) bool                                           { panic("stub") }
func normalCallExtra(c ToolCall) (map[string]json.RawMessage, error)     { panic("stub") }
func (m Message) sizeBound() int                                         { panic("stub") }
func (s Session) stateSize() int                                         { panic("stub") }
func (m Message) AppendJSON(dst []byte) ([]byte, error)                  { panic("stub") }
func (s Session) AppendJSON(dst []byte) ([]byte, error)                  { panic("stub") }
func DecodeMessage(b []byte) (Message, error)                            { panic("stub") }
func DecodeSession(b []byte) (Session, error)                            { panic("stub") }
func normalExtra(prefix string, m map[string]json.RawMessage, modelled func(string) bool) (map[string]json.RawMessage, error) {
	panic("stub")
}
