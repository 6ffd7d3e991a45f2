package nodes

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
)

const someUUID = "423740e7-c66e-05e3-9d0b-9e1205b24d43"

// TestParseProviderID goes through VS-ID-2 and VS-ID-3.
func TestParseProviderID(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		id     string
		want   string
		err    string
	}{
		"as emitted":           {"what we write we read", "vsphere://" + someUUID, someUUID, ""},
		"capitals":             {"VS-ID-2: case-insensitive", "vsphere://423740E7-C66E-05E3-9D0B-9E1205B24D43", someUUID, ""},
		"blanks":               {"spaces around the UUID trimmed", "vsphere:// " + someUUID + "\t", someUUID, ""},
		"bare":                 {"accepted", someUUID, someUUID, ""},
		"bare with blanks":     {"accepted", " " + strings.ToUpper(someUUID) + "\n", someUUID, ""},
		"scheme in capitals":   {"the same VM", "vSphere://" + someUUID, someUUID, ""},
		"empty":                {"an error", "", "", `provider ID "": nodeID is empty`},
		"scheme alone":         {"an error", "vsphere://", "", `provider ID "vsphere://": nodeID is empty`},
		"scheme and blanks":    {"an error", "vsphere://  ", "", `provider ID "vsphere://  ": nodeID is empty`},
		"VM name":              {"VS-ID-3: an error, never not found", "vsphere://node-1", "", `provider ID "vsphere://node-1" is not vsphere://<uuid>`},
		"bare name":            {"an error", "node-1", "", `provider ID "node-1" is not vsphere://<uuid>`},
		"other scheme":         {"an error", "aws:///eu-west-1a/i-0123", "", `provider ID "aws:///eu-west-1a/i-0123" is not of vsphere`},
		"UUID of other scheme": {"an error", "openstack:///" + someUUID, "", `provider ID "openstack:///` + someUUID + `" is not of vsphere`},
		"too short":            {"no UUID", "vsphere://" + someUUID[:35], "", `is not vsphere://<uuid>`},
		"too long":             {"no UUID", "vsphere://" + someUUID + "0", "", `is not vsphere://<uuid>`},
		"no dashes":            {"no UUID", "vsphere://423740e7c66e05e39d0b9e1205b24d43", "", `is not vsphere://<uuid>`},
		"not hexadecimal":      {"no UUID", "vsphere://x23740e7-c66e-05e3-9d0b-9e1205b24d43", "", `is not vsphere://<uuid>`},
		"blank inside":         {"no UUID", "vsphere://42374 e7-c66e-05e3-9d0b-9e1205b24d43", "", `is not vsphere://<uuid>`},
		"line break after":     {"the pattern ends at the end of the text", someUUID + "\nx", "", `is not vsphere://<uuid>`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseProviderID(tc.id)
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.HasSuffix(err.Error(), tc.err) {
				t.Errorf("%s: want %q, %q, got %q, %v", tc.reason, tc.want, tc.err, got, err)
			}
			if empty := strings.Contains(tc.err, "is empty"); errors.Is(err, errEmptyID) != empty {
				t.Errorf("%s: want errEmptyID: %v, got %v", tc.reason, empty, err)
			}
		})
	}
}

func TestFormatProviderID(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		someUUID:                  "vsphere://" + someUUID, // VS-ID-1: the canonical UUID
		strings.ToUpper(someUUID): "vsphere://" + someUUID, // VS-ID-1: lower-cased
		"":                        "",                      // a VM whose UUID was never read
	}
	for uuid, want := range cases {
		if got := formatProviderID(uuid); got != want {
			t.Errorf("%q: want %q, got %q", uuid, want, got)
		}
	}
}

// TestSwapUUID goes through VS-ID-4.
func TestSwapUUID(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, uuid, want string }{
		"example":       {"of the specification", "56492e42-22ad-3911-6d72-59cc8f26bc90", "422e4956-ad22-1139-6d72-59cc8f26bc90"},
		"back":          {"an involution", "422e4956-ad22-1139-6d72-59cc8f26bc90", "56492e42-22ad-3911-6d72-59cc8f26bc90"},
		"letters":       {"aabbccdd-eeff-gghh-rest", "aabbccdd-eeff-0011-2233-445566778899", "ddccbbaa-ffee-1100-2233-445566778899"},
		"capitals":      {"lower-cased", "56492E42-22AD-3911-6D72-59CC8F26BC90", "422e4956-ad22-1139-6d72-59cc8f26bc90"},
		"blanks around": {"as systemUUID may have", " 56492e42-22ad-3911-6d72-59cc8f26bc90 ", "422e4956-ad22-1139-6d72-59cc8f26bc90"},
		"short":         {"unchanged", "56492E42", "56492E42"},
		"empty":         {"unchanged", "", ""},
		"long and none": {"unchanged", strings.Repeat("Z", 40), strings.Repeat("Z", 40)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := swapUUID(tc.uuid); got != tc.want {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestSwapUUIDIsInvolution(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		uuid := rapid.StringMatching(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`).Draw(t, "uuid")
		swapped := swapUUID(uuid)
		if back := swapUUID(swapped); back != strings.ToLower(uuid) {
			t.Fatalf("%s, swapped %s, back %s", uuid, swapped, back)
		}
		if swapped[18:] != strings.ToLower(uuid)[18:] {
			t.Fatalf("%s: the last groups changed: %s", uuid, swapped)
		}
	})
}

// FuzzProviderID: what is accepted is one UUID, which is written and read back
// as itself, and is never of another cloud.
func FuzzProviderID(f *testing.F) {
	for _, seed := range []string{"", "vsphere://", "vsphere://" + someUUID, someUUID, "aws:///a/i-1", "vsphere://node", "://" + someUUID, "VSPHERE://" + someUUID, "\x00" + someUUID, "vsphere://vsphere://" + someUUID} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		uuid, err := parseProviderID(id)
		if err != nil {
			if uuid != "" {
				t.Fatalf("%q: got %q together with %v", id, uuid, err)
			}

			return
		}
		if providerid.Classify(ProviderName, id) == providerid.Foreign {
			t.Fatalf("%q is foreign", id)
		}
		if !uuidPattern.MatchString(uuid) || !strings.Contains(strings.ToLower(id), uuid) {
			t.Fatalf("%q: got %q", id, uuid)
		}
		for _, form := range []string{formatProviderID(uuid), strings.ToUpper(uuid)} {
			if again, err := parseProviderID(form); again != uuid || err != nil {
				t.Fatalf("%q: got %q, %v", form, again, err)
			}
		}
		if swapUUID(swapUUID(id)) != swapUUID(swapUUID(swapUUID(swapUUID(id)))) {
			t.Fatalf("%q: swapping is no involution", id)
		}
	})
}
