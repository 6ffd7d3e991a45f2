package request_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

func TestKeyValues(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		value  string
		want   map[string]string
	}{
		"Empty":      {reason: "FW-ANNOTATION-2: nothing"},
		"Pair":       {"key and value", "a=b", map[string]string{"a": "b"}},
		"KeyAlone":   {"empty value", "a", map[string]string{"a": ""}},
		"NoValue":    {"empty value", "a=", map[string]string{"a": ""}},
		"NoKey":      {"skipped", "=b,,", nil},
		"Rest":       {"the rest is dropped", "a=b=c=d,e==f", map[string]string{"a": "b", "e": ""}},
		"Last":       {"the last one wins", "a=1,b=2,a=3", map[string]string{"a": "3", "b": "2"}},
		"Items":      {"items are trimmed", " a=1 ,\tb=2\n", map[string]string{"a": "1", "b": "2"}},
		"WithinItem": {"blanks around = are kept", "a = 1", map[string]string{"a ": " 1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, _ := must(t, web(with(request.AnnotationAdditionalTags, tc.value)), request.Config{})
			if diff := cmp.Diff(tc.want, got.Tags); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestKeyValuesOfAnyText reads any text by the rules of FW-ANNOTATION-2, word for
// word.
func TestKeyValuesOfAnyText(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.StringOf(rapid.SampledFrom([]rune("ab=, \tü"))).Draw(rt, "value")
		want := map[string]string{}
		for item := range strings.SplitSeq(value, ",") {
			pieces := append(strings.Split(strings.TrimSpace(item), "="), "")
			if pieces[0] != "" {
				want[pieces[0]] = pieces[1]
			}
		}
		got, _, err := request.New(web(with(request.AnnotationAdditionalTags, value)), nil, request.Config{})
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Tags, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("%q: -want +got:\n%s", value, diff)
		}
	})
}

// TestSameInputSameRequest draws the order of maps anew: nothing depends on it.
func TestSameInputSameRequest(t *testing.T) {
	t.Parallel()

	options := with(request.AnnotationAdditionalTags, "a=1,b=2,c=3")
	misspelled := "service.beta.kubernetes.io/aws-load-balancer-"
	for range 20 {
		svc := web(options, with(request.AnnotationSourceRanges, "10.0.0.0/8,192.0.2.0/24,2001:db8::/32"))
		for _, name := range []string{"x", "y", "z", "eip-allocations"} {
			svc.Annotations[misspelled+name] = "1"
		}
		one, warnings := must(t, svc, request.Config{})
		two, again := must(t, svc.DeepCopy(), request.Config{})
		if diff := cmp.Diff(one, two, comparePrefixes); diff != "" {
			t.Fatalf("the same Service has another request: %s", diff)
		}
		if diff := cmp.Diff(warnings, again); diff != "" || len(warnings) != 4 {
			t.Fatalf("AWS-LB-17: the same Service has other warnings: %s, %v", diff, warnings)
		}
	}
}
