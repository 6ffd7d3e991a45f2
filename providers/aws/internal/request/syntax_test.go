package request_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
