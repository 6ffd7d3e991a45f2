package openstack

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

func TestRequestSettings(t *testing.T) {
	t.Parallel()
	defaults := request.Settings{
		ClusterName: "kube", Classes: map[string]request.Networks{}, ContainerStore: "barbican",
		Monitor: request.MonitorSettings{Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3},
	}
	cases := map[string]struct {
		reason, text string
		want         request.Settings
	}{
		"defaults":   {"the method depends on the provider", "", defaults},
		"no suffix":  {"unless hostnames are enabled", "[LoadBalancer]\ningress-hostname-suffix = example.com\n", defaults},
		"everything": {"each key has its field", everything, everySetting()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, _ := decode(parse(t, loginText+tc.text), in(nil))
			check(t, tc.reason, tc.want, cfg.requestSettings("kube"))
		})
	}
}

const everything = `[LoadBalancer]
floating-network-id = 1
floating-subnet-id = 2
floating-subnet = 3
floating-subnet-tags = 4
network-id = 5
subnet-id = 6
member-subnet-id = 7
lb-method = SOURCE_IP
create-monitor = true
monitor-delay = 8500ms
monitor-timeout = 4
monitor-max-retries = 9
monitor-max-retries-down = 10
internal-lb = true
node-selector = k=v
flavor-id = flavor
availability-zone = zone
default-tls-container-ref = ref
container-store = external
manage-security-groups = true
enable-ingress-hostname = true
[LoadBalancerClass "gold"]
floating-subnet = gold
`

func everySetting() request.Settings {
	return request.Settings{
		ClusterName: "kube",
		Networks: request.Networks{
			FloatingNetworkID: "1", FloatingSubnetID: "2", FloatingSubnet: "3", FloatingSubnetTags: "4",
			NetworkID: "5", SubnetID: "6", MemberSubnetID: "7",
		},
		Classes:      map[string]request.Networks{"gold": {FloatingSubnet: "gold"}},
		Method:       "SOURCE_IP",
		Monitor:      request.MonitorSettings{Create: true, Delay: 8, Timeout: 4, MaxRetries: 9, MaxRetriesDown: 10},
		InternalOnly: true, NodeSelector: "k=v", FlavorID: "flavor", AvailabilityZone: "zone", TLSContainerRef: "ref",
		ContainerStore: "external", ManageSecurityGroups: true, IngressHostnameSuffix: "nip.io",
	}
}
