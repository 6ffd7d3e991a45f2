package nodes

import (
	"errors"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

const someID = "b1f8c2a4-6d0e-4e0a-9b7c-0123456789ab"

func TestParseProviderID(t *testing.T) {
	t.Parallel()
	const form = " is not openstack://<region>/<ID>, where the region can be empty"
	cases := map[string]struct {
		reason string
		id     string
		err    string // empty: the result is someID
	}{
		"as written":            {"without a region", "openstack:///" + someID, ""},
		"regional":              {"with the region of the cloud-config", "openstack://RegionOne/" + someID, ""},
		"bare":                  {"the scheme can be missing", "/" + someID, ""},
		"bare and regional":     {"the scheme can be missing", "RegionOne/" + someID, ""},
		"capitals":              {"one server has one ID", "openstack:///" + strings.ToUpper(someID), ""},
		"no slash":              {"no region, not even an empty one", "openstack://" + someID, `"openstack://` + someID + `"` + form},
		"ID alone":              {"is no provider ID", someID, `"` + someID + `"` + form},
		"too many slashes":      {"is no region", "openstack:////" + someID, `"openstack:////` + someID + `"` + form},
		"path":                  {"an ID has no slash", "openstack://RegionOne/a/" + someID, form},
		"slash at the end":      {"an ID has no slash", "openstack:///" + someID + "/", form},
		"no ID":                 {"is an error", "openstack://RegionOne/", `"openstack://RegionOne/": it has no ID of a server, which is a UUID`},
		"neither":               {"is an error", "openstack:///", "it has no ID of a server, which is a UUID"},
		"scheme alone":          {"is an error", "openstack://", form},
		"empty":                 {"is an error", "", form},
		"other scheme":          {"is of another cloud", "aws:///" + someID, `"aws:///` + someID + `" does not begin with openstack://`},
		"scheme in capitals":    {"the scheme is case-sensitive", "Openstack:///" + someID, `does not begin with openstack://`},
		"blank before":          {"is another scheme", " openstack:///" + someID, `does not begin with openstack://`},
		"scheme twice":          {"the second one is no region", "openstack://openstack:///" + someID, form},
		"name":                  {"no UUID: an error, never a server that is gone", "openstack:///node-1", "it has no ID of a server, which is a UUID"},
		"UUID without dashes":   {"Nova would not find it", "openstack:///" + strings.ReplaceAll(someID, "-", ""), "it has no ID of a server, which is a UUID"},
		"blank after":           {"no UUID", "openstack:///" + someID + " ", "it has no ID of a server, which is a UUID"},
		"line break after":      {"no UUID", "openstack:///" + someID + "\n", "it has no ID of a server, which is a UUID"},
		"other region":          {"is not looked for here", "openstack://RegionTwo/" + someID, `is of the region "RegionTwo", not of the region "RegionOne" of the cloud-config`},
		"region in other case":  {"is another region", "openstack://regionone/" + someID, `is of the region "regionone", not of the region "RegionOne" of the cloud-config`},
		"bare and other region": {"is not looked for here", "RegionTwo/" + someID, `is of the region "RegionTwo", not of the region "RegionOne" of the cloud-config`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := providerIDs{region: "RegionOne"}.parse(tc.id)
			switch {
			case tc.err == "" && (got != someID || err != nil):
				t.Errorf("%s: want %s, got %q, %v", tc.reason, someID, got, err)
			case tc.err != "" && (got != "" || err == nil || !strings.HasSuffix(err.Error(), tc.err)):
				t.Errorf("%s: want %q, got %q, %v", tc.reason, tc.err, got, err)
			}
			if accepted := (providerIDs{region: "RegionOne"}).accepts(tc.id) == nil; accepted != (tc.err == "" || strings.Contains(tc.err, "of the region")) {
				t.Errorf("%s: accepted: %v", tc.reason, accepted)
			}
			if otherRegion := strings.Contains(tc.err, "of the region"); (instance.ReasonOf(err) == instance.ReasonOtherRegion) != otherRegion {
				t.Errorf("%s: reason of another region: want %v, got %q", tc.reason, otherRegion, instance.ReasonOf(err))
			}
			if noID := strings.Contains(tc.err, "it has no ID"); errors.Is(err, errNoServerID) != noID {
				t.Errorf("%s: want errNoServerID: %v, got %v", tc.reason, noID, err)
			}
		})
	}
}

// Without a region in the cloud-config, a region in a provider ID is another one.
func TestParseProviderIDWithoutRegion(t *testing.T) {
	t.Parallel()
	if got, err := (providerIDs{}).parse("openstack:///" + someID); got != someID || err != nil {
		t.Errorf("want %s, got %q, %v", someID, got, err)
	}
	if _, err := (providerIDs{}).parse("openstack://RegionOne/" + someID); instance.ReasonOf(err) != instance.ReasonOtherRegion {
		t.Errorf("want %s, got %v", instance.ReasonOtherRegion, err)
	}
}

func TestFormatProviderID(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		ids  providerIDs
		want string
	}{
		"by default":              {providerIDs{region: "RegionOne"}, "openstack:///" + someID},
		"regional":                {providerIDs{region: "RegionOne", regional: true}, "openstack://RegionOne/" + someID},
		"regional, but no region": {providerIDs{regional: true}, "openstack:///" + someID},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.ids.format(someID); got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
		})
	}
}

// FuzzProviderID: what is accepted is one UUID of this region, which is written and read
// back as itself, and is never of another cloud.
func FuzzProviderID(f *testing.F) {
	for _, seed := range []string{"", "openstack://", "openstack:///" + someID, "openstack://r/" + someID, "r/" + someID, "/" + someID, someID, "aws:///a/i-1", "openstack:////" + someID, "://" + someID, "openstack://openstack:///" + someID} {
		f.Add(seed, "r")
	}
	f.Fuzz(func(t *testing.T, id, region string) {
		ids := providerIDs{region: region}
		got, err := ids.parse(id)
		if err != nil {
			if got != "" {
				t.Fatalf("%q: got %q together with %v", id, got, err)
			}

			return
		}
		if providerid.Classify(ProviderName, id) == providerid.Foreign {
			t.Fatalf("%q is foreign", id)
		}
		if !uuid.IsServerID(got) || !strings.HasSuffix(strings.ToLower(id), "/"+got) {
			t.Fatalf("%q: got %q", id, got)
		}
		for _, regional := range []bool{false, true} {
			ids.regional = regional
			if form := ids.format(got); ValidRegion(region) {
				if again, err := ids.parse(form); again != got || err != nil {
					t.Fatalf("%q: got %q, %v", form, again, err)
				}
			}
		}
	})
}
