package address_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
)

// TestParseFamilies shows FW-ADDR-3.
func TestParseFamilies(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason  string
		values  []string
		want    []address.Family
		wantErr string
	}{
		"Nothing":  {"the caller has a default", nil, nil, ""},
		"Empty":    {"an empty key is no family", []string{"", " "}, nil, ""},
		"List":     {"FW-ADDR-3: a comma list of one key", []string{"ipv6,ipv4"}, []address.Family{address.IPv6, address.IPv4}, ""},
		"Repeated": {"FW-ADDR-3: a repeated key", []string{"ipv4", "ipv6"}, []address.Family{address.IPv4, address.IPv6}, ""},
		"Spelling": {"FW-ADDR-3: case and blanks do not matter", []string{" IPv6 , iPv4"}, []address.Family{address.IPv6, address.IPv4}, ""},
		"Unknown":  {"rejected", []string{"ipv5"}, nil, `unknown IP family "ipv5": want ipv4 or ipv6`},
		"Blank":    {"a blank item is an error, not a crash", []string{",ipv4"}, nil, `unknown IP family "": want ipv4 or ipv6`},
		"Twice":    {"an order needs distinct items", []string{"ipv4", "IPv4"}, nil, "IP family ipv4 is given twice"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := address.ParseFamilies(tc.values...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || err.Error() != tc.wantErr) {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.wantErr)
			}
		})
	}
}

func TestFamilies(t *testing.T) {
	t.Parallel()

	in := append(addrs("10.0.0.2", "2001:db8::2", "10.0.0.1", "::ffff:10.0.0.3", "2001:db8::1"), netip.Addr{})
	check := func(reason string, got []netip.Addr, want ...netip.Addr) {
		if diff := cmp.Diff(want, got, byText); diff != "" {
			t.Errorf("%s: %s", reason, diff)
		}
	}
	check("a mapped address is IPv4",
		address.OfFamily(address.IPv4, in, self), in[0], in[2], in[3])
	check("no address is of no family",
		address.OfFamily(address.IPv6, in, self), in[1], in[4])
}
