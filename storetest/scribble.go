package storetest

import "reflect"

// scribble overwrites all that can be reached through the maps, slices and pointers of
// v, which is a pointer: what a caller may do with a value that is its own. Unexported
// fields are out of a caller's reach.
func scribble(v any) { scribbleValue(reflect.ValueOf(v).Elem()) }

func scribbleValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scribbleValue(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			scribbleValue(v.Elem()) // a map or slice in it can be reached, the rest not
			if v.CanSet() && v.NumMethod() == 0 {
				v.Set(reflect.ValueOf("scribbled"))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scribbleValue(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scribbleValue(v.Index(i))
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		for _, k := range v.MapKeys() {
			elem := reflect.New(v.Type().Elem()).Elem()
			elem.Set(v.MapIndex(k))
			scribbleValue(elem)
			v.SetMapIndex(k, elem)
		}
		k := reflect.New(v.Type().Key()).Elem()
		if k.Kind() == reflect.String {
			k.SetString("scribbled")
			v.SetMapIndex(k, reflect.Zero(v.Type().Elem()))
		}
	case reflect.String:
		if v.CanSet() {
			v.SetString("scribbled")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if v.CanSet() {
			v.SetInt(v.Int() ^ 0x55)
		}
	case reflect.Uint8:
		if v.CanSet() {
			v.SetUint('X') // of a json.RawMessage
		}
	}
}
