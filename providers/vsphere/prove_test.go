package vsphere

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider/providertest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// readingCalls are the calls of a proof: a session with a view and a filter, which end with it,
// and reads.
var readingCalls = []string{
	"CreateContainerView", "CreateFilter", "CreatePropertyCollector", "DestroyPropertyCollector", "DestroyPropertyFilter", "DestroyView", "FindAllByUuid",
	"Login", "Logout", "RetrieveProperties", "RetrievePropertiesEx", "RetrieveServiceContent", "WaitForUpdatesEx",
}

// FW-CONFIG-14: a proof finds the vCenter, the datacenters and the VMs, or reports what the vCenter
// has refused.
func TestProve(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		proof  providertest.Proof
		change [2]string
		fault  func(*sim.VCenter)
	}{
		"Right": {proof: providertest.Proof{
			Reason: "a VM is missing, which is no error", Identity: "user", Scope: "vCenter vc", Found: 2, Missing: []string{"node-gone"},
		}},
		"WrongPassword": {
			proof:  providertest.Proof{Reason: "the vCenter refuses it", Scope: "vCenter vc", Err: "log in with user"},
			change: [2]string{"password = ", "password = wr0ng # "},
		},
		"WrongDatacenter": {
			proof:  providertest.Proof{Reason: "the vCenter does not have it", Identity: "user", Scope: "datacenters nowhere", Err: "datacenter nowhere does not exist"},
			change: [2]string{"datacenters = dc", "datacenters = nowhere"},
		},
		"OtherDatacenter": {
			proof: providertest.Proof{
				Reason: "no VM of a Node is there, although kubelets report", Identity: "user", Scope: "datacenters empty",
				Missing: []string{"node-1", "node-2", "node-gone"}, Err: "the instances of all 3 nodes are missing",
			},
			change: [2]string{"datacenters = dc", "datacenters = empty"},
		},
		"RetiredAndDown": {
			proof: providertest.Proof{
				Reason: "VS-NODE-15: nothing waits for a retired vCenter", Identity: "user", Scope: "vCenter old, which is retired and not tried; vCenter vc",
				Found: 2, Missing: []string{"node-gone"},
			},
			change: [2]string{"datacenters = dc\n", "datacenters = dc\n[VirtualCenter \"old\"]\nserver = 127.0.0.1\nport = 1\nretired = true\n"},
		},
		"Down": {
			proof: providertest.Proof{Reason: "no response", Scope: "vCenter vc", Err: "vCenter vc", Unanswered: true},
			fault: func(vc *sim.VCenter) { vc.Down() },
		},
		"Secret": {
			proof:  providertest.Proof{Reason: "there is no cluster to read the Secret from", Err: "no cluster is given"},
			change: [2]string{"password = ", "secret-name = s\nsecret-namespace = n\n# "},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vc, nodes := newProofCloud(t)
			p := tc.proof
			p.Text = fmt.Sprintf("[Global]\nuser = %q\npassword = %q\n%sdatacenters = dc\n", vc.User(), vc.Password(), section("vc", vc))
			if tc.change[0] != "" {
				p.Text = strings.Replace(p.Text, tc.change[0], tc.change[1], 1)
			}
			p.Nodes, p.Prove, p.Changes = nodes, proving(), func() []string { return left(vc) }
			if tc.fault != nil {
				tc.fault(vc)
			}
			p.Check(t)
			if n := len(vc.RefusedLogins()); n > 1 {
				t.Errorf("%s: %d refused logins", p.Reason, n)
			}
		})
	}
}

// newProofCloud starts a vCenter with two Nodes, and one whose VM is missing.
func newProofCloud(t *testing.T) (*sim.VCenter, []*v1.Node) {
	t.Helper()
	cloud, err := sim.Start(sim.Spec{VCenters: []sim.VCenterSpec{{Name: "vc", Datacenters: []sim.DatacenterSpec{
		{Name: "dc", VMs: []sim.VMSpec{{Name: "node-1"}, {Name: "node-2"}}}, {Name: "empty"},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	nodes := []*v1.Node{
		kubetest.Node("node-1", kubetest.ProviderID(id(cloud.VM("node-1")))), kubetest.Node("node-2", kubetest.ProviderID(id(cloud.VM("node-2")))),
		kubetest.Node("node-gone", kubetest.ProviderID("vsphere://42370000-0000-4000-8000-00000000dead"), kubetest.NotReady()),
	}

	return cloud.VCenter("vc"), nodes
}

// proving proves in the environment of a test.
func proving() func(context.Context, provider.Candidate) (provider.Proof, error) {
	times := quick
	times.session.LoginGuard = login.NewGuard(login.DefaultLimits(), clock.RealClock{})

	return func(ctx context.Context, candidate provider.Candidate) (provider.Proof, error) {
		return proveIn(ctx, candidate, environment{hasDirectory: func(string) bool { return false }}, times)
	}
}

// left lists the calls that are not those of a proof, and the sessions that are left.
func left(vc *sim.VCenter) []string {
	var all []string
	for _, op := range slices.Sorted(maps.Keys(vc.Calls())) {
		if !slices.Contains(readingCalls, op) {
			all = append(all, op)
		}
	}

	if n := len(vc.Sessions()); n > 0 {
		all = append(all, fmt.Sprintf("%d sessions", n))
	}

	return all
}
