package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sessionstore/sessionstore"
)

const (
	showBytes = 600 // of a value in a failure; more hides the rest of it
	showDiffs = 6   // places that a diff names
)

// show prints a value for a failure: zero fields left out, nil told from empty, times
// with their zone, long ones shortened.
func show(v any) string {
	var b strings.Builder
	showValue(&b, reflect.ValueOf(v), 0)
	return clip(b.String(), showBytes)
}

// clip shortens s, not within a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := n
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:cut], len(s))
}

func showValue(b *strings.Builder, v reflect.Value, depth int) {
	if b.Len() > showBytes || depth > 12 {
		b.WriteString("…")
		return
	}
	if !v.IsValid() {
		b.WriteString("nil")
		return
	}
	if showKnown(b, v) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		showValue(b, v.Elem(), depth+1)
	case reflect.Struct:
		t := v.Type()
		b.WriteString(t.Name())
		b.WriteByte('{')
		sep := ""
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && !v.Field(i).IsZero() {
				b.WriteString(sep + f.Name + ": ")
				showValue(b, v.Field(i), depth+1)
				sep = ", "
			}
		}
		b.WriteByte('}')
	case reflect.Map:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		b.WriteByte('{')
		sep := ""
		for _, k := range sortedKeys(v) {
			fmt.Fprintf(b, "%s%q: ", sep, k)
			showValue(b, v.MapIndex(reflect.ValueOf(k).Convert(v.Type().Key())), depth+1)
			sep = ", "
		}
		b.WriteByte('}')
	case reflect.Slice:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		fmt.Fprintf(b, "%d[", v.Len())
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(", ")
			}
			if i == 12 {
				b.WriteString("…")
				break
			}
			showValue(b, v.Index(i), depth+1)
		}
		b.WriteByte(']')
	case reflect.String:
		fmt.Fprintf(b, "%q", clip(v.String(), 160))
	case reflect.Func, reflect.Chan:
		b.WriteString(v.Type().String())
	default:
		fmt.Fprintf(b, "%v", v.Interface())
	}
}

// showKnown prints the types that are leaves to us.
func showKnown(b *strings.Builder, v reflect.Value) bool {
	if !v.CanInterface() {
		return false
	}
	switch x := v.Interface().(type) {
	case time.Time:
		b.WriteString(x.Format("2006-01-02T15:04:05.999999999") + " " + x.Location().String())
	case time.Duration:
		b.WriteString(x.String())
	case error:
		fmt.Fprintf(b, "%q", x.Error())
	case sessionstore.Content:
		switch {
		case x.IsNull():
			b.WriteString("null")
		case x.IsText():
			fmt.Fprintf(b, "%q", clip(x.String(), 160))
		default:
			b.WriteString("Parts(")
			sep := ""
			for _, p := range x.All() {
				b.WriteString(sep + clip(string(p.Raw()), 160))
				sep = ", "
			}
			b.WriteByte(')')
		}
	case sessionstore.Part:
		b.WriteString(clip(string(x.Raw()), 160))
	case []byte:
		fmt.Fprintf(b, "%q", clip(string(x), 160))
	default:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 && !v.IsNil() {
			b.WriteString(clip(string(v.Bytes()), 160)) // json.RawMessage
			return true
		}
		return false
	}
	return true
}

func sortedKeys(v reflect.Value) []string {
	keys := make([]string, 0, v.Len())
	for _, k := range v.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	return keys
}

// diff says where got and want are not deeply equal: "" if they are.
func diff(got, want any) string {
	if reflect.DeepEqual(got, want) {
		return ""
	}
	var d differ
	d.walk("", reflect.ValueOf(got), reflect.ValueOf(want), 0)
	if len(d.out) == 0 {
		return "in what only reflect.DeepEqual sees, such as the monotonic reading of a time"
	}
	return strings.Join(d.out, "; ")
}

type differ struct{ out []string }

func (d *differ) add(path, format string, args ...any) {
	if len(d.out) < showDiffs {
		d.out = append(d.out, strings.TrimPrefix(path, ".")+" "+fmt.Sprintf(format, args...))
	}
}

func (d *differ) walk(path string, got, want reflect.Value, depth int) {
	if len(d.out) >= showDiffs || depth > 110 {
		return
	}
	if !got.IsValid() || !want.IsValid() || got.Type() != want.Type() {
		if got.IsValid() || want.IsValid() {
			d.add(path, "got %s (%s), want %s (%s)", showOf(got), typeOf(got), showOf(want), typeOf(want))
		}
		return
	}
	if got.CanInterface() && reflect.DeepEqual(got.Interface(), want.Interface()) {
		return
	}
	if got.CanInterface() {
		switch got.Interface().(type) {
		case time.Time, sessionstore.Content, sessionstore.Part:
			d.add(path, "got %s, want %s", showOf(got), showOf(want))
			return
		}
	}
	switch got.Kind() {
	case reflect.Struct:
		for i := range got.NumField() {
			if f := got.Type().Field(i); f.IsExported() {
				d.walk(path+"."+f.Name, got.Field(i), want.Field(i), depth+1)
			}
		}
	case reflect.Pointer, reflect.Interface:
		if got.IsNil() || want.IsNil() {
			d.add(path, "got %s, want %s", showOf(got), showOf(want))
			return
		}
		d.walk(path, got.Elem(), want.Elem(), depth+1)
	case reflect.Map:
		d.walkMap(path, got, want, depth)
	case reflect.Slice:
		if got.Type().Elem().Kind() == reflect.Uint8 || got.IsNil() != want.IsNil() {
			d.add(path, "got %s, want %s", showOf(got), showOf(want))
			return
		}
		if got.Len() != want.Len() {
			d.add(path, "got %d elements, want %d", got.Len(), want.Len())
		}
		for i := range min(got.Len(), want.Len()) {
			d.walk(fmt.Sprintf("%s[%d]", path, i), got.Index(i), want.Index(i), depth+1)
		}
	default:
		d.add(path, "got %s, want %s", showOf(got), showOf(want))
	}
}

func (d *differ) walkMap(path string, got, want reflect.Value, depth int) {
	if got.IsNil() != want.IsNil() {
		d.add(path, "got %s, want %s", showOf(got), showOf(want))
		return
	}
	for _, k := range sortedKeys(want) {
		key := reflect.ValueOf(k).Convert(want.Type().Key())
		at := fmt.Sprintf("%s[%q]", path, clip(k, 80))
		if !got.MapIndex(key).IsValid() {
			d.add(at, "is missing")
			continue
		}
		d.walk(at, got.MapIndex(key), want.MapIndex(key), depth+1)
	}
	for _, k := range sortedKeys(got) {
		if !want.MapIndex(reflect.ValueOf(k).Convert(want.Type().Key())).IsValid() {
			d.add(fmt.Sprintf("%s[%q]", path, clip(k, 80)), "is there, want none")
		}
	}
}

func showOf(v reflect.Value) string {
	var b strings.Builder
	showValue(&b, v, 0)
	return clip(b.String(), 200)
}

func typeOf(v reflect.Value) string {
	if !v.IsValid() {
		return "nil"
	}
	return v.Type().String()
}
