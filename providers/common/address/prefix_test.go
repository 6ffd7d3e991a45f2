package address_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
)

func prefixes(texts ...string) address.Prefixes {
	var all address.Prefixes
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}

	return all
}

func TestParsePrefixes(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason  string
		text    string
		want    address.Prefixes
		wantErr string
	}{
		"Nothing": {"no restriction", "", nil, ""},
		"List":    {"blanks after commas are fine", "10.0.0.0/8, 2001:db8::/32", prefixes("10.0.0.0/8", "2001:db8::/32"), ""},
		"Blanks":  {"blanks separate too", "10.0.0.0/8 \t192.168.0.0/16\n", prefixes("10.0.0.0/8", "192.168.0.0/16"), ""},
		"Empties": {"nothing between commas", ",10.0.0.0/8,,", prefixes("10.0.0.0/8"), ""},
		"Host":    {"bits behind the prefix do not matter", "10.1.2.3/8", prefixes("10.0.0.0/8"), ""},
		"Mapped":  {"a mapped prefix is IPv4", "::ffff:10.0.0.0/104", prefixes("10.0.0.0/8"), ""},
		"Bad": {
			"the good ones remain, each bad one is named", "10.0.0.0/8,ten,10.0.0.0/33,192.0.2.1",
			prefixes("10.0.0.0/8"),
			"\"ten\" is not an address block such as 192.0.2.0/24\n" +
				"\"10.0.0.0/33\" is not an address block such as 192.0.2.0/24\n" +
				"\"192.0.2.1\" is not an address block such as 192.0.2.0/24",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := address.ParsePrefixes(tc.text)
			if diff := cmp.Diff(tc.want, got, byText); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || err.Error() != tc.wantErr) {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.wantErr)
			}
		})
	}
}

func TestPrefixes(t *testing.T) {
	t.Parallel()

	in := addrs("192.0.2.9", "10.0.0.5", "192.0.2.3", "2001:db8::1", "::ffff:10.0.0.1", "172.16.0.1")
	p := prefixes("2001:db8::/32", "10.0.0.0/8", "192.0.2.0/24", "10.0.0.0/31")

	if got, ok := address.First(p[1:], in, self); !ok || got != in[1] {
		t.Errorf("the first prefix decides, then the first address: got %v, %t", got, ok)
	}
	if got, ok := address.First(prefixes("203.0.113.0/24"), in, self); ok {
		t.Errorf("nothing is in that prefix: got %v", got)
	}
	if diff := cmp.Diff([]netip.Addr{in[0], in[2], in[5]}, address.OutOf(p[:2], in, self), byText); diff != "" {
		t.Errorf("without the excluded: %s", diff)
	}
	if diff := cmp.Diff(in, address.OutOf(nil, in, self), byText); diff != "" {
		t.Errorf("no prefix excludes nothing: %s", diff)
	}
	if p.Contain(netip.Addr{}) || p.Rank(netip.Addr{}) != len(p) {
		t.Error("no address is in no prefix")
	}
}

var (
	genAddr = rapid.Custom(func(t *rapid.T) netip.Addr {
		last := byte(rapid.IntRange(0, 3).Draw(t, "last"))
		if rapid.Bool().Draw(t, "six") {
			return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: last})
		}

		return netip.AddrFrom4([4]byte{10, byte(rapid.IntRange(0, 2).Draw(t, "net")), 0, last})
	})
	genPrefixes = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) netip.Prefix {
		addr := genAddr.Draw(t, "addr")

		return netip.PrefixFrom(addr, rapid.IntRange(0, addr.BitLen()).Draw(t, "bits")).Masked()
	}), 0, 4)
)

// TestPrefixLaws: First, Rank, Contain and OutOf agree with each other and change
// nothing.
func TestPrefixLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := address.Prefixes(genPrefixes.Draw(t, "prefixes"))
		in := rapid.SliceOfN(genAddr, 0, 8).Draw(t, "addrs")
		before := slices.Clone(in)

		out := address.OutOf(p, in, self)
		first, ok := address.First(p, in, self)

		if !slices.Equal(in, before) {
			t.Fatal("what was passed in has changed")
		}
		outside := slices.DeleteFunc(slices.Clone(in), p.Contain)
		if !slices.Equal(out, outside) {
			t.Fatalf("outside are %v, want %v", out, outside)
		}
		if ok != (len(out) < len(in)) {
			t.Fatalf("first is %v, %t, and outside are %v of %v", first, ok, out, in)
		}
		for _, addr := range in {
			if ok && p.Rank(addr) < p.Rank(first) {
				t.Fatalf("%v is preferred to %v", addr, first)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"192.0.2.7", "::ffff:192.0.2.7/120", "fe80::1%eth0/64", "10.0.0.0/8, ::/0", "/", "1.2.3.4/ 8"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if addr, err := address.ParseInterface(text); err == nil {
			again, err := address.Parse(addr.String())
			if err != nil || again != addr || addr.Is4In6() || addr.Zone() != "" {
				t.Errorf("ParseInterface(%q) = %v, again %v, %v", text, addr, again, err)
			}
		}
		got, _ := address.ParsePrefixes(text)
		for _, p := range got {
			if !p.IsValid() || p != p.Masked() || !got.Contain(p.Addr()) {
				t.Errorf("ParsePrefixes(%q) has %v", text, p)
			}
		}
	})
}
