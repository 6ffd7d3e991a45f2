package vsphere

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// TestEnvironmentReference proves that each variable of the reference page sets
// the key that the page contains.
func TestEnvironmentReference(t *testing.T) {
	t.Parallel()
	file, err := config.Parse("vsphere.conf", []byte("[Global]\n"))
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]string{
		"port": "8443", "insecure-flag": "true", "soap-roundtrip-count": "5", "ip-family": "ipv6",
		"thumbprint":                   strings.Repeat("ab", 20),
		"internal-network-subnet-cidr": "10.0.0.0/8", "external-network-subnet-cidr": "10.0.0.0/8",
	}
	for _, v := range reference().Environment {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			if v.Sets == (config.Name{}) {
				if v.Help == "" {
					t.Error("the page does not mention it")
				}

				return
			}
			name := strings.ReplaceAll(v.Name, "<id>", "A")
			value, ok := samples[v.Sets.Key]
			if !ok {
				value = "text"
			}
			env := environment{
				variables:    map[string]string{"VSPHERE_VCENTER_A": "name", name: value},
				hasDirectory: func(string) bool { return false },
			}
			_, origins, _ := decode(file, env)
			if diff := cmp.Diff("environment "+name, origins[v.Sets]); diff != "" {
				t.Errorf("what set %s (-want +got):\n%s", v.Sets, diff)
			}
		})
	}
}
