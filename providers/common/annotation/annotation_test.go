package annotation_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

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
type getter func(annotation.Object) (any, error)

func of[T any](get func(annotation.Object) (T, error)) getter {
	return func(obj annotation.Object) (any, error) { return get(obj) }
}

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
		"String":          {"as it is", of(key.String), " a ", " a "},
		"StringEmpty":     {"empty is a value", of(key.String), "", ""},
		"Bool":            {"FW-ANNOTATION-1: a Go bool", of(key.Bool), "T", true},
		"BoolFalse":       {"FW-ANNOTATION-1: a Go bool", of(key.Bool), "0", false},
		"TrueFalse":       {"exactly", of(key.TrueFalse), "true", true},
		"TrueFalseFalse":  {"exactly", of(key.TrueFalse), "false", false},
		"Int":             {"plain decimal", of(key.Int), "-1", -1},
		"Int32":           {"FW-ANNOTATION-1: 32 bits", of(key.Int32), "60", int32(60)},
		"Duration":        {"with units", of(key.Duration), "1m30s", 90 * time.Second},
		"DurationSeconds": {"plain integers are seconds", of(key.Duration), "010", 10 * time.Second},
		"List":            {"trimmed", of(key.StringList), " a, b,,c ", []string{"a", "b", "c"}},
		"ListEmpty":       {"nothing is a list too", of(key.StringList), " , ", []string(nil)},
		"CIDRs": {
			"commas and blanks, normalized, once each", of(key.CIDRs),
			"192.168.32.1/24, 10.0.0.0/8 192.168.32.0/24\t2001:db8::1/32", prefixes("192.168.32.0/24", "10.0.0.0/8", "2001:db8::/32"),
		},
		"CIDRsEmpty": {"nothing is a list too", of(key.CIDRs), "", []netip.Prefix(nil)},
		"KeyValues": {
			"FW-ANNOTATION-2: alone, empty, with =, twice, without a key", of(key.KeyValues),
			"a=1, b ,c=,d=x=y,e= 5,a=2,=9",
			map[string]string{"a": "2", "b": "", "c": "", "d": "x=y", "e": " 5"},
		},
		"KeyValuesEmpty": {"nothing is a map too", of(key.KeyValues), "", map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.get(annotated(tc.value))
			if diff := cmp.Diff(tc.want, got, byText); diff != "" || err != nil {
				t.Errorf("%s: %v, %s", tc.reason, err, diff)
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
		"Bool":      {"FW-ANNOTATION-1: an error naming key and value", of(key.Bool), "yes", `annotation example.com/key: "yes" is not a boolean (true or false)`},
		"BoolEmpty": {"empty is no bool", of(key.Bool), "", `annotation example.com/key: "" is not a boolean (true or false)`},
		"TrueFalse": {"anything else", of(key.TrueFalse), "True", `annotation example.com/key: "True" is not true or false`},
		"Int":       {"no number", of(key.Int), "5s", `annotation example.com/key: "5s" is not a whole number`},
		"IntHex":    {"only plain decimal", of(key.Int), "0x10", `annotation example.com/key: "0x10" is not a whole number`},
		"IntBlank":  {"not trimmed", of(key.Int), " 5", `annotation example.com/key: " 5" is not a whole number`},
		"Int32":     {"too large", of(key.Int32), "2147483648", `annotation example.com/key: "2147483648" is not a whole number of 32 bits`},
		"Duration":  {"no duration", of(key.Duration), "soon", `annotation example.com/key: "soon" is not a duration such as 1m30s`},
		"CIDRs":     {"one bad item", of(key.CIDRs), "10.0.0.0/8,ten", `annotation example.com/key: "10.0.0.0/8,ten" is not a list of CIDRs`},
		"Long":      {"a long value does not flood the log", of(key.Int), strings.Repeat("x", 5000), `annotation example.com/key: "` + strings.Repeat("x", 100) + `…" is not a whole number`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tc.get(annotated(tc.value))
			if err == nil || err.Error() != tc.want {
				t.Fatalf("%s: got %v, want %s", tc.reason, err, tc.want)
			}
			if !errors.Is(err, apierr.ErrInvalid) || errors.Is(err, annotation.ErrNotSet) {
				t.Errorf("%s: %v must be invalid, and set", tc.reason, err)
			}
			if got, ok := errors.AsType[*annotation.Error](err); !ok || got.Name != key || got.Value != tc.value {
				t.Errorf("%s: got %#v", tc.reason, got)
			}
		})
	}
}

func TestNotSet(t *testing.T) {
	t.Parallel()

	getters := map[string]getter{
		"String": of(key.String), "Bool": of(key.Bool), "TrueFalse": of(key.TrueFalse),
		"Int": of(key.Int), "Int32": of(key.Int32), "Duration": of(key.Duration),
		"StringList": of(key.StringList), "CIDRs": of(key.CIDRs), "KeyValues": of(key.KeyValues),
	}
	for name, get := range getters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := get(&v1.Service{})
			if !errors.Is(err, annotation.ErrNotSet) || errors.Is(err, apierr.ErrInvalid) {
				t.Errorf("got %v", err)
			}
			if err.Error() != "example.com/key: annotation is not set" {
				t.Errorf("text: %v", err)
			}
		})
	}
	if key.IsSet(&v1.Service{}) || !key.IsSet(annotated("")) {
		t.Error("an empty annotation is set, a missing one is not")
	}
}

func FuzzValues(f *testing.F) {
	for _, value := range []string{"", "true", "-1", "1h", "a=b,c", "10.0.0.0/8 ::/0", "=,="} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		obj := annotated(value)
		for name, get := range map[string]getter{
			"Bool": of(key.Bool), "Int": of(key.Int), "Duration": of(key.Duration), "CIDRs": of(key.CIDRs),
			"StringList": of(key.StringList), "KeyValues": of(key.KeyValues),
		} {
			if _, err := get(obj); err != nil && !errors.Is(err, apierr.ErrInvalid) {
				t.Errorf("%s(%q): %v", name, value, err)
			}
		}
		list, _ := key.StringList(obj)
		again, _ := key.StringList(annotated(strings.Join(list, ",")))
		if diff := cmp.Diff(list, again); diff != "" {
			t.Errorf("%q: %s", value, diff)
		}
	})
}
