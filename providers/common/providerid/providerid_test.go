package providerid_test

import (
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
)

// FW-ID-2: the IDs are those of AWS-ID-1, VS-ID-2 and, for OpenStack, of its
// upstream controller.
func TestClassify(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		scheme string
		id     string
		want   providerid.Kind
	}{
		"Empty":            {"no ID yet", "aws", "", providerid.Empty},
		"AWS":              {"the usual form", "aws", "aws:///us-east-1a/i-0abc", providerid.Ours},
		"AWSAccount":       {"an account before the zone", "aws", "aws://acct/az/i-0abc", providerid.Ours},
		"AWSBare":          {"an instance ID alone", "aws", "i-0abc", providerid.Bare},
		"AWSMalformed":     {"a bad ID with our scheme is ours, and an error", "aws", "aws:///az/vol-1", providerid.Ours},
		"AWSForeign":       {"FW-ID-1: another scheme never gets to the parser", "aws", "gce://p/z/i-1", providerid.Foreign},
		"AWSOnVSphere":     {"each provider sees the others as foreign", "vsphere", "aws:///us-east-1a/i-0abc", providerid.Foreign},
		"OpenStack":        {"without a region", "openstack", "openstack:///ID", providerid.Ours},
		"OpenStackRegion":  {"with a region", "openstack", "openstack://REGION/ID", providerid.Ours},
		"OpenStackBare":    {"the prefix is assumed", "openstack", "REGION/ID", providerid.Bare},
		"OpenStackSlash":   {"the prefix is assumed", "openstack", "/ID", providerid.Bare},
		"OpenStackCapital": {"the provider's parser returns an error", "openstack", "Openstack:///x", providerid.Ours},
		"VSphere":          {"the usual form", "vsphere", "vsphere://423740E7-C66E-05E3-9D0B-9E1205B24D43", providerid.Ours},
		"VSphereBare":      {"a UUID alone", "vsphere", "423740e7-c66e-05e3-9d0b-9e1205b24d43", providerid.Bare},
		"VSphereNothing":   {"nothing after the scheme", "vsphere", "vsphere://", providerid.Ours},
		"Prefix":           {"a longer scheme is another one", "vsphere", "vsphere2://x", providerid.Foreign},
		"Inner":            {"the first separator counts", "aws", "gce://aws://i-1", providerid.Foreign},
		"Blanks":           {"blanks around the scheme do not make it another", "aws", " aws :///i-1", providerid.Ours},
		"NoScheme":         {"nothing before the separator is no scheme", "aws", "://i-1", providerid.Bare},
		"OtherSeparator":   {"a colon alone is no scheme", "aws", "gce:/i-1", providerid.Bare},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := providerid.Classify(tc.scheme, tc.id); got != tc.want {
				t.Errorf("%s: Classify(%q, %q) = %v, want %v", tc.reason, tc.scheme, tc.id, got, tc.want)
			}
		})
	}
}

func TestParts(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason     string
		id         string
		wantScheme string
		wantRest   string
	}{
		"Both":     {"split at the first separator", "a://b://c", "a", "b://c"},
		"Bare":     {"all of it is the rest", "i-1", "", "i-1"},
		"NoScheme": {"nothing is lost", "://i-1", "", "://i-1"},
		"NoRest":   {"a scheme alone", "aws://", "aws", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme, ok := providerid.Scheme(tc.id)
			if scheme != tc.wantScheme || ok != (tc.wantScheme != "") {
				t.Errorf("%s: scheme %q, %t", tc.reason, scheme, ok)
			}
			if rest := providerid.Rest(tc.id); rest != tc.wantRest {
				t.Errorf("%s: rest %q", tc.reason, rest)
			}
		})
	}
}

func FuzzClassify(f *testing.F) {
	for _, id := range []string{"", "aws:///a/i-1", "i-1", "://", "gce://x", "AWS://", "openstack://R/a/b", "\xff://\x00"} {
		f.Add("aws", id)
	}
	f.Fuzz(func(t *testing.T, scheme, id string) {
		kind := providerid.Classify(scheme, id)
		got, ok := providerid.Scheme(id)
		if (kind == providerid.Empty) != (id == "") {
			t.Errorf("Classify(%q, %q) = %v", scheme, id, kind)
		}
		if kind == providerid.Bare && ok || (kind == providerid.Ours || kind == providerid.Foreign) && !ok {
			t.Errorf("Classify(%q, %q) = %v with scheme %q", scheme, id, kind, got)
		}
		if ok && providerid.Format(got, providerid.Rest(id)) != id {
			t.Errorf("the parts of %q do not make it again", id)
		}
		if ok && strings.Contains(got, "://") {
			t.Errorf("scheme %q of %q", got, id)
		}
		if ok && providerid.Classify(got, id) == providerid.Foreign && strings.TrimSpace(got) == got {
			t.Errorf("%q is foreign to its own scheme", id)
		}
		if other, ok := providerid.Scheme(scheme + "x://" + id); ok && other == scheme+"x" {
			if providerid.Classify(scheme, scheme+"x://"+id) == providerid.Ours {
				t.Errorf("%q is taken for %q", scheme+"x", scheme)
			}
		}
	})
}
