package codec_test

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/sessionstore/sessionstore/internal/codec"
)

func TestParseNumber(t *testing.T) {
	t.Parallel()
	number := func(s string) json.Number { return json.Number(s) }
	for _, tt := range []struct {
		in   string
		want any
	}{
		{"0", int64(0)},
		{"-0", int64(0)},
		{"9223372036854775807", int64(math.MaxInt64)},
		{"-9223372036854775808", int64(math.MinInt64)},
		{"9223372036854775808", number("9223372036854775808")},
		{"-9223372036854775809", number("-9223372036854775809")},
		{"1.0", 1.0},
		{"1.50", 1.5},
		{"0.1", 0.1},
		{"100e-2", 1.0},
		{"1e2", 100.0},
		{"1E+2", 100.0},
		{"0.0", 0.0},
		{"0e0", 0.0},
		{"0.000e999999999999999999999", 0.0},
		{"-0.0", math.Copysign(0, -1)},
		{"0.1000000000000000055511151231257827", number("0.1000000000000000055511151231257827")},
		{"9007199254740993.0", number("9007199254740993.0")},
		{"9007199254740992.0", 9007199254740992.0},
		{"1e400", number("1e400")},
		{"1e-400", number("1e-400")},
		{"-1e-400", number("-1e-400")},
		{"1e999999999", number("1e999999999")},
		{"1e-999999999999999999999", number("1e-999999999999999999999")},
		{"1e99999999999999999999", number("1e99999999999999999999")},
		{"5e-324", 5e-324},
		{"4.9e-324", number("4.9e-324")}, // the same float, but its shortest form is 5e-324
		{"4.9406564584124654e-324", number("4.9406564584124654e-324")},
		{"3e-324", number("3e-324")},
		{"1.7976931348623157e308", math.MaxFloat64},
		{"1.7976931348623157e+308", math.MaxFloat64},
		{"2.2250738585072014e-308", 0x1p-1022},
		{"123456789012345.6", 123456789012345.6},
		{"0.30000000000000004", 0.30000000000000004},
		{"0.3000000000000000", 0.3},
		{strings.Repeat("9", 400) + ".0", number(strings.Repeat("9", 400) + ".0")},
		{"1" + strings.Repeat("0", 300) + ".0", 1e300},
		{"0." + strings.Repeat("0", 299) + "1", 1e-300},
	} {
		got := codec.ParseNumber(tt.in)
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("ParseNumber(%.40s) = %T %[2]v, want %T %[3]v", tt.in, got, tt.want)
		}
		if g, ok := got.(float64); ok && math.Signbit(g) != math.Signbit(tt.want.(float64)) {
			t.Errorf("ParseNumber(%s) has the other sign", tt.in)
		}
	}
}

func TestValidNumber(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"0": true, "-1.5e+3": true, "": false, "-": false, "1 ": false, " 1": false, "1.": false, "01": false,
		"NaN": false, "Inf": false, "0x1": false, "1_0": false, "1e5e": false, "--1": false,
	} {
		if got := codec.ValidNumber(s); got != want {
			t.Errorf("ValidNumber(%q) = %t, want %t", s, got, want)
		}
	}
}

func TestAppendFloat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		f    float64
		bits int
		want string
	}{
		{0, 64, "0.0"},
		{math.Copysign(0, -1), 64, "-0.0"},
		{1, 64, "1.0"},
		{-1.5, 64, "-1.5"},
		{1e20, 64, "100000000000000000000.0"},
		{1e21, 64, "1e+21"},
		{1e-6, 64, "0.000001"},
		{1e-7, 64, "1e-07"},
		{float64(float32(0.1)), 32, "0.1"},
		{math.MaxFloat64, 64, "1.7976931348623157e+308"},
	} {
		if got := string(codec.AppendFloat(nil, tt.f, tt.bits)); got != tt.want {
			t.Errorf("AppendFloat(%v) = %s, want %s", tt.f, got, tt.want)
		}
	}
}

// FuzzFloat checks that every float survives, and that a literal becomes a float exactly
// if the float is written as the same decimal, by arithmetic on rationals.
func FuzzFloat(f *testing.F) {
	f.Add(uint64(0), "1.5")
	f.Add(math.Float64bits(0.1), "0.1000000000000000055")
	f.Add(uint64(1), "4.94e-324")
	f.Add(math.Float64bits(1e21), "123456789012345678.0e-3")
	f.Fuzz(func(t *testing.T, bits uint64, literal string) {
		x := math.Float64frombits(bits)
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			text := codec.AppendFloat(nil, x, 64)
			got, ok := codec.ParseNumber(string(text)).(float64)
			if !ok || math.Float64bits(got) != bits || !json.Valid(text) {
				t.Fatalf("%v is written %s and read as %v", x, text, got)
			}
		}
		if len(literal) > 60 || !codec.ValidNumber(literal) || !strings.ContainsAny(literal, ".eE") {
			return
		}
		if i := strings.IndexAny(literal, "eE"); i >= 0 {
			if e, err := strconv.Atoi(literal[i+1:]); err != nil || e > 1000 || e < -1000 {
				return // too large for the rationals below
			}
		}
		want, _ := new(big.Rat).SetString(literal)
		y, err := strconv.ParseFloat(literal, 64)
		exact := false
		if err == nil {
			shortest, _ := new(big.Rat).SetString(strconv.FormatFloat(y, 'e', -1, 64))
			exact = shortest.Cmp(want) == 0
		}
		got := codec.ParseNumber(literal)
		if n, isFloat := got.(float64); isFloat != exact || isFloat && n != y {
			t.Fatalf("ParseNumber(%s) = %T %[2]v; exact is %t", literal, got, exact)
		}
	})
}

func TestNanos(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want int64
		ok   bool
		out  string
	}{
		{"0", 0, true, "0"},
		{"-0.0", 0, true, "0"},
		{"3600", 3600e9, true, "3600"},
		{"3600.0", 3600e9, true, "3600"},
		{"1.5", 1.5e9, true, "1.5"},
		{"0.000001", 1000, true, "0.000001"},
		{"1e-9", 1, true, "0.000000001"},
		{"1.0000000019", 1_000_000_001, true, "1.000000001"},
		{"-1.0000000019", -1_000_000_001, true, "-1.000000001"},
		{"1e-10", 0, true, "0"},
		{"1e-999999999999", 0, true, "0"},
		{"15E2", 1500e9, true, "1500"},
		{"9223372036.854775807", math.MaxInt64, true, "9223372036.854775807"},
		{"-9223372036.854775808", math.MinInt64, true, "-9223372036.854775808"},
		{"9223372036.854775808", 0, false, ""},
		{"9223372037", 0, false, ""},
		{"1e999999999999", 0, false, ""},
		{"1" + strings.Repeat("0", 50) + "e-50", 1e9, true, "1"},
	} {
		got, ok := codec.ParseNanos(tt.in)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("ParseNanos(%s) = %d, %t; want %d, %t", tt.in, got, ok, tt.want, tt.ok)
			continue
		}
		if ok {
			if out := string(codec.AppendNanos(nil, got)); out != tt.out {
				t.Errorf("AppendNanos(%d) = %s, want %s", got, out, tt.out)
			}
		}
	}
}
