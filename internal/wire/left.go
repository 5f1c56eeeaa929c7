package wire

import "github.com/sessionstore/sessionstore"

// Left is told of each thing of a history that a request has in no form, by its kind. Nil
// is for requests whose caller does not ask.
type Left func(kind string)

// Note tells of something of a kind.
func (l Left) Note(kind string) {
	if l != nil {
		l(kind)
	}
}

// Part tells of a part.
func (l Left) Part(p sessionstore.Part) {
	if l == nil {
		return
	}
	switch kind := p.Type(); {
	case IsText(p):
		l("blank text") // no other text is left out
	case kind == "":
		l("part without a type")
	default:
		l(kind + " part")
	}
}

// Media is ParseMedia. Where somebody asks what is left out, an attachment that is
// malformed is left out and no error; ok is then false.
func (l Left) Media(p sessionstore.Part) (m Media, ok bool, err error) {
	m, err = ParseMedia(p)
	switch {
	case err == nil:
		return m, true, nil
	case l != nil:
		l("malformed attachment")
		return m, false, nil
	}
	return m, false, err
}

// Noted returns the note that stands for an attachment, and tells of it.
func (l Left) Noted(m Media) string {
	l.Note(string(m.Kind))
	return m.Note()
}
