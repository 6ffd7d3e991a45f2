package aws

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// FuzzDecode: no cloud-config makes the reader panic, and one without errors has
// all that the provider needs.
func FuzzDecode(f *testing.F) {
	everything, err := os.ReadFile(filepath.Join("testdata", "config", "everything.conf"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(everything))
	f.Add("[Global]\nZone = 1a\nNodeIPFamilies = ipx\nNodeIPFamilies\n")
	f.Add("[Global]\nSupportedTopologyInstanceTypePattern = \"[\"\n[ServiceOverride]\nService = EC2\n")
	f.Add("[ServiceOverride \"a\"]\nService = ec2\nRegion = r\nURL = http://[::1]:%31\nSigningRegion = s\n[ServiceOverride \"b\"]\nService = EC2\nRegion = r\n")
	f.Add("global: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := config.Parse("aws.conf", []byte(text))
		if err != nil {
			return
		}
		explain(file)
		cfg, problems := decode(file)
		if problems.Err() != nil {
			return
		}
		if len(cfg.families) == 0 || cfg.topologyTypes == nil || cfg.Global.ClusterServiceSharedLoadBalancerHealthProbePort <= 0 {
			t.Errorf("the configuration is not complete: %+v", cfg)
		}
		if cfg.Global.Zone != "" && cfg.Global.Region == "" {
			t.Errorf("no region in zone %q, and no error", cfg.Global.Zone)
		}
		for _, o := range cfg.overrides {
			if parsed, err := url.Parse(o.URL); err != nil || parsed.Host == "" || o.Region == "" || o.SigningRegion == "" {
				t.Errorf("an override is not complete: %+v, %v", o, err)
			}
		}
	})
}
