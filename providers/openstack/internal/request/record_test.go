package request

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRecord(t *testing.T) {
	t.Parallel()
	a, b := testID("a"), testID("b")
	cases := map[string]struct {
		reason, value string
		want          []string
		kept          string
	}{
		"none":      {reason: "there is no record"},
		"one":       {"it is used", testUID + " " + a, []string{a}, ""},
		"several":   {"in order", testUID + " " + a + "  requested " + b, []string{a, Requested, b}, ""},
		"copy":      {"another Service", testID("uid") + " " + a + " 10.0.0.9", nil, ""},
		"no UID":    {"whose it is, is not known", a, nil, ""},
		"only UID":  {"no load balancer", testUID, nil, ""},
		"kept":      {"with the address", testUID + " " + a + " 10.0.0.9", []string{a}, "10.0.0.9"},
		"edited":    {"what is no ID becomes no part of a URL", testUID + " ../x " + b, []string{b}, ""},
		"separator": {"it is not a list with commas", testUID + " " + a + "," + b, nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCase()
			c.service.Annotations = map[string]string{string(AnnotationLoadBalancers): tc.value}
			got := RecordOf(c.service)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			kept := KeptOf(c.service)
			if want, _ := netip.ParseAddr(tc.kept); kept != want {
				t.Errorf("%s: kept %s, want %s", tc.reason, kept, want)
			}
			c.service.Annotations[string(AnnotationLoadBalancers)] = NewNames("kube", c.service).Record(kept, got...)
			if diff := cmp.Diff(got, RecordOf(c.service), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: written and read again: %s", tc.reason, diff)
			}
			if again := KeptOf(c.service); again != kept {
				t.Errorf("%s: written and read again: kept %s", tc.reason, again)
			}
		})
	}
}
