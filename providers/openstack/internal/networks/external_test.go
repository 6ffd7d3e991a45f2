package networks_test

import (
	"errors"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const opRouters = "neutron.ListRouters"

// OS-LB-39: of several external networks that one is used which a router connects with the
// subnet of the VIP, the others are refused. What the project may not see is no verdict.
func TestReachableNetwork(t *testing.T) {
	t.Parallel()
	const other = openstack.ProjectOther
	for name, tc := range map[string]struct {
		reason string
		// routers lead to these networks.
		routers []openstack.RouterSpec
		unknown bool
		fault   string
		denied  bool
		want    string
		err     error
		warned  bool
		calls   int
	}{
		"One":         {reason: "not the smallest ID", routers: []openstack.RouterSpec{{External: id(4)}}, want: id(4), calls: 1},
		"Smallest":    {reason: "it is the one", routers: []openstack.RouterSpec{{External: id(2)}}, want: id(2), calls: 1},
		"Two":         {reason: "the smallest of them", routers: []openstack.RouterSpec{{External: id(4)}, {External: id(3)}}, want: id(3), warned: true, calls: 1},
		"NoGateway":   {reason: "it leads nowhere", routers: []openstack.RouterSpec{{}}, want: id(2), warned: true, calls: 1},
		"Hidden":      {reason: "the router of another project", routers: []openstack.RouterSpec{{External: id(4), Project: other}}, want: id(2), warned: true, calls: 1},
		"HiddenOne":   {reason: "the other one is seen", routers: []openstack.RouterSpec{{External: id(3), Project: other}, {External: id(4)}}, want: id(4), calls: 1},
		"NoRouter":    {reason: "none is seen", want: id(2), warned: true, calls: 1},
		"Unknown":     {reason: "the subnet is not known yet", routers: []openstack.RouterSpec{{External: id(4)}}, unknown: true, want: id(2), warned: true},
		"DeniedPorts": {reason: "not readable", routers: []openstack.RouterSpec{{External: id(4)}}, fault: opPorts, denied: true, want: id(2), warned: true, calls: 1},
		"Denied":      {reason: "not readable", routers: []openstack.RouterSpec{{External: id(4)}}, fault: opRouters, denied: true, want: id(2), warned: true, calls: 1},
		"Failed":      {reason: "not read is no choice", routers: []openstack.RouterSpec{{External: id(4)}}, fault: opRouters, err: apierr.ErrUnavailable, calls: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			for digit := 2; digit <= 4; digit++ {
				f.addExternal(digit, false, "198.51.100.0/24")
			}
			private := f.AddNetwork(openstack.NetworkSpec{Name: "private"})
			subnet := f.AddSubnet(openstack.SubnetSpec{ID: id(1), Network: private, CIDR: "10.0.0.0/24"})
			for _, router := range tc.routers {
				router.Subnets = []string{subnet}
				f.AddRouter(router)
			}
			if tc.unknown {
				subnet = ""
			}
			if tc.fault != "" {
				fault := openstack.Proxy(503, "")
				if tc.denied {
					fault = openstack.Denied()
				}
				f.Interceptor().Inject(tc.fault, simserver.Always(), fault)
			}
			for range 2 {
				got, warnings, err := f.External(bounded(t), in(subnet))
				if got != tc.want || !errors.Is(err, tc.err) {
					t.Errorf("%s: got %q, %v, want %q", tc.reason, got, err, tc.want)
				}
				var reasons []service.Reason
				for _, w := range warnings {
					reasons = append(reasons, w.Reason)
				}
				openstacktest.Check(t, tc.reason, map[bool][]service.Reason{true: {networks.ExternalNetworkAmbiguous}}[tc.warned], reasons)
			}
			f.wantCalls(t, tc.reason, map[string]int{opPorts: tc.calls})
		})
	}
}
