package annotation_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const key annotation.Name = "example.com/key"

var byText = cmp.Transformer("prefix", netip.Prefix.String)

func annotated(value string) *v1.Service {
	return &v1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{string(key): value}}}
}

// getter reads a value of whatever type.
type getter func(*annotation.Reader) any

func of[T any](get func(*annotation.Reader, annotation.Name) T) getter {
	return func(r *annotation.Reader) any { return get(r, key) }
}

var (
	text      = of((*annotation.Reader).String)
	boolean   = of((*annotation.Reader).Bool)
	trueFalse = of((*annotation.Reader).TrueFalse)
	number    = of((*annotation.Reader).Int32)
	cidrs     = of((*annotation.Reader).CIDRs)
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}

	return all
}

func TestValues(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		get    getter
		value  string
		want   any
	}{
		"String":         {"as it is", text, " a ", new(" a ")},
		"StringEmpty":    {"empty is a value", text, "", new("")},
		"Bool":           {"FW-ANNOTATION-1: a Go bool", boolean, "T", new(true)},
		"BoolFalse":      {"FW-ANNOTATION-1: a Go bool", boolean, "0", new(false)},
		"TrueFalse":      {"exactly", trueFalse, "true", new(true)},
		"TrueFalseFalse": {"exactly", trueFalse, "false", new(false)},
		"Int32":          {"FW-ANNOTATION-1: 32 bits", number, "60", new(int32(60))},
		"Int32Negative":  {"plain decimal", number, "-1", new(int32(-1))},
		"CIDRs": {
			"commas and blanks, normalized, once each", cidrs,
			"192.168.32.1/24, 10.0.0.0/8 192.168.32.0/24\t2001:db8::1/32", prefixes("192.168.32.0/24", "10.0.0.0/8", "2001:db8::/32"),
		},
		"CIDRsEmpty": {"nothing is a list too", cidrs, "", []netip.Prefix(nil)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := annotation.NewReader(annotated(tc.value))
			if diff := cmp.Diff(tc.want, tc.get(r), byText); diff != "" || r.Err() != nil {
				t.Errorf("%s: %v, %s", tc.reason, r.Err(), diff)
			}
		})
	}
}

func TestBadValues(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		get    getter
		value  string
		want   string
	}{
		"Bool":       {"FW-ANNOTATION-1: an error naming key and value", boolean, "yes", `annotation example.com/key: "yes" is not a boolean (true or false)`},
		"BoolEmpty":  {"empty is no bool", boolean, "", `annotation example.com/key: "" is not a boolean (true or false)`},
		"TrueFalse":  {"anything else", trueFalse, "True", `annotation example.com/key: "True" is not true or false`},
		"Int32":      {"no number", number, "5s", `annotation example.com/key: "5s" is not a whole number of 32 bits`},
		"Int32Hex":   {"only plain decimal", number, "0x10", `annotation example.com/key: "0x10" is not a whole number of 32 bits`},
		"Int32Blank": {"not trimmed", number, " 5", `annotation example.com/key: " 5" is not a whole number of 32 bits`},
		"Int32Large": {"too large", number, "2147483648", `annotation example.com/key: "2147483648" is not a whole number of 32 bits`},
		"CIDRs":      {"one bad item", cidrs, "10.0.0.0/8,ten", `annotation example.com/key: "10.0.0.0/8,ten" is not a list of CIDRs`},
		"Long":       {"a long value does not flood the log", number, strings.Repeat("x", 5000), `annotation example.com/key: "` + strings.Repeat("x", 100) + `…" is not a whole number of 32 bits`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := annotation.NewReader(annotated(tc.value))
			if got := tc.get(r); !isNil(got) {
				t.Errorf("%s: got %v", tc.reason, got)
			}
			err := r.Err()
			if err == nil || err.Error() != tc.want {
				t.Fatalf("%s: got %v, want %s", tc.reason, err, tc.want)
			}
			if !errors.Is(err, apierr.ErrInvalid) {
				t.Errorf("%s: %v must be invalid", tc.reason, err)
			}
			if got, ok := errors.AsType[*annotation.Error](err); !ok || got.Name != key || got.Value != tc.value {
				t.Errorf("%s: got %#v", tc.reason, got)
			}
		})
	}
}

// isNil reports whether a getter returned no value.
func isNil(value any) bool {
	return value == (*string)(nil) || value == (*bool)(nil) || value == (*int32)(nil) || cmp.Equal(value, []netip.Prefix(nil))
}

func TestMissingValues(t *testing.T) {
	t.Parallel()

	for name, get := range map[string]getter{"String": text, "Bool": boolean, "TrueFalse": trueFalse, "Int32": number, "CIDRs": cidrs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			missing := annotation.NewReader(&v1.Service{})
			if got := get(missing); !isNil(got) || missing.Err() != nil {
				t.Errorf("missing: got %v, %v", got, missing.Err())
			}
			empty := annotation.NewReader(annotated(""))
			if got := get(empty.SkipEmpty()); !isNil(got) || empty.Err() != nil {
				t.Errorf("empty, skipped: got %v, %v", got, empty.Err())
			}
		})
	}
}

func TestName(t *testing.T) {
	t.Parallel()

	missing, empty := &v1.Service{}, annotated("")
	if key.IsSet(missing) || !key.IsSet(empty) {
		t.Error("an empty annotation is set, a missing one is not")
	}
	if got := key.Value(missing) + key.Value(annotated(" a ")); got != " a " {
		t.Errorf("values are as they are, and empty if missing: got %q", got)
	}
	for value, want := range map[string][]string{" a, b,,c ": {"a", "b", "c"}, " , ": nil, "": nil} {
		if diff := cmp.Diff(want, key.List(annotated(value))); diff != "" {
			t.Errorf("list %q: %s", value, diff)
		}
	}
	pairs := map[string]string{"a": "2", "b": "", "c": "", "d": "x=y", "e": " 5"}
	if diff := cmp.Diff(pairs, key.KeyValues(annotated("a=1, b ,c=,d=x=y,e= 5,a=2,=9"))); diff != "" {
		t.Errorf("FW-ANNOTATION-2: alone, empty, with =, twice, without a key: %s", diff)
	}
	if got := key.KeyValues(annotated(" ,=1")); got != nil {
		t.Errorf("no pairs: got %v", got)
	}
}

// TestAllErrors shows FW-ANNOTATION-3.
func TestAllErrors(t *testing.T) {
	t.Parallel()

	r := annotation.NewReader(annotated("x"))
	r.Bool(key)
	r.SkipEmpty().Int32(key)
	r.Reject(key, "one of y, z")
	want := `annotation example.com/key: "x" is not a boolean (true or false)
annotation example.com/key: "x" is not a whole number of 32 bits
annotation example.com/key: "x" is not one of y, z`
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzValues(f *testing.F) {
	for _, value := range []string{"", "true", "-1", "1h", "a=b,c", "10.0.0.0/8 ::/0", "=,="} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		obj := annotated(value)
		for name, get := range map[string]getter{"Bool": boolean, "TrueFalse": trueFalse, "Int32": number, "CIDRs": cidrs} {
			r := annotation.NewReader(obj)
			get(r)
			if err := r.Err(); err != nil && !errors.Is(err, apierr.ErrInvalid) {
				t.Errorf("%s(%q): %v", name, value, err)
			}
		}
		list := key.List(obj)
		again := key.List(annotated(strings.Join(list, ",")))
		if diff := cmp.Diff(list, again); diff != "" {
			t.Errorf("%q: %s", value, diff)
		}
		for name := range key.KeyValues(obj) {
			if name == "" {
				t.Errorf("%q has a pair without a key", value)
			}
		}
	})
}
