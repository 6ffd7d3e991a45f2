package vsphere

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider/providertest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
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
			proof:  providertest.Proof{Reason: "the vCenter refuses it", Scope: "vCenter vc", Err: "log in with user", LoginRefused: true},
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
		"MayNotRead": {
			proof: providertest.Proof{Reason: "the account may log in, and not read", Identity: "user", Scope: "vCenter vc", Err: "NoPermission"},
			fault: func(vc *sim.VCenter) {
				vc.Inject("WaitForUpdatesEx", simserver.Always(), sim.Fault(&types.NoPermission{PrivilegeId: "System.View"}))
			},
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
			vc, nodes := newProofCloud(t, "vc")
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

// VS-NODE-15: a proof sends nothing to a retired vCenter, and VMs that no other one has may be there.
func TestProveWithoutRetiredVCenters(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		nodes  func([]*v1.Node) []*v1.Node
		found  int
	}{
		"Some": {"a VM is missing", func(nodes []*v1.Node) []*v1.Node { return nodes }, 2},
		"All":  {"all VMs are in the retired one", func([]*v1.Node) []*v1.Node { return []*v1.Node{elsewhere("node-gone")} }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vc, nodes := newProofCloud(t, "vc")
			retired := startVCenter(t, sim.VCenterSpec{Name: "old", Password: "another"})
			providertest.Proof{
				Reason: tc.reason, Prove: proving(), Text: configOf(vc) + section("old", retired) + "retired = true\n", Nodes: tc.nodes(nodes),
				Identity: "user", Scope: "vCenter old, which is retired and not tried; vCenter vc, all datacenters",
				Found: tc.found, Missing: []string{"node-gone"}, Changes: func() []string { return left(vc) },
			}.Check(t)
			if n := retired.Total(); n > 0 {
				t.Errorf("%s: %d calls to the retired vCenter: %v", tc.reason, n, retired.Calls())
			}
		})
	}
}

// VS-CONFIG-13: vCenters that do not respond are named and left out. A VM that the others do not have may be there. If none
// responds, the proof can be repeated.
func TestProveWhileVCentersDoNotRespond(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		proof providertest.Proof
		down  []string
		nodes []string
	}{
		"One": {proof: providertest.Proof{
			Reason: "the other one is proven", Identity: "user", Scope: "vCenter a, which is not proven (", Found: 1, Unknown: []string{"node-a"},
		}, down: []string{"a"}, nodes: []string{"node-a", "node-b"}},
		"OneWithAllNodes": {proof: providertest.Proof{
			Reason: "no Node is in the other one", Identity: "user", Scope: "vCenter b, which is not proven (", Unknown: []string{"node-b"},
		}, down: []string{"b"}, nodes: []string{"node-b"}},
		"All": {proof: providertest.Proof{
			Reason: "no response", Scope: "vCenter a", Err: "vCenter a", Unanswered: true,
		}, down: []string{"a", "b"}, nodes: []string{"node-a", "node-b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newPlaces(t)
			for _, name := range tc.down {
				b.fleet.VCenter(name).Down()
			}
			p := tc.proof
			p.Prove, p.Text, p.Changes = proving(), b.text, func() []string { return nil } // the provider runs beside it
			for _, name := range tc.nodes {
				p.Nodes = append(p.Nodes, kubetest.Node(name, kubetest.ProviderID(id(b.fleet.VM(name)))))
			}
			p.Check(t)
		})
	}
}

// FW-CONFIG-19: a password that one of several vCenters has refused is not proven again, whichever was the first, and
// although the running cloud is logged in with another one.
func TestProveRefusedPassword(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]bool{"AtTheStart": false, "WhileRunning": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := []string{"a", "b", "c"}
			spec := sim.Spec{Linked: [][]string{names}}
			for _, name := range names {
				spec.VCenters = append(spec.VCenters, sim.VCenterSpec{Name: name, Datacenters: []sim.DatacenterSpec{{Name: "dc"}}})
			}
			fleet, err := sim.Start(spec)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := fleet.Close(); err != nil {
					t.Error(err)
				}
			})
			first := fleet.VCenter("a")
			text := configOf(first) + section("b", fleet.VCenter("b")) + section("c", fleet.VCenter("c"))
			p := providertest.Proof{Reason: "the password in use", Prove: proving(), Text: text, Changes: func() []string { return left(first) }}
			if running {
				p.Check(t)
			}
			p.Text, p.Err = strings.Replace(text, "password = ", "password = wr0ng # ", 1), "log in with user"
			p.LoginRefused = true
			for _, p.Reason = range []string{"a wrong one", "the same one again"} {
				p.Check(t)
			}
			if n := len(first.RefusedLogins()); n < 1 || n > 2 {
				t.Errorf("%d refused logins, want 1 or 2", n)
			}
		})
	}
}

// FW-CONFIG-14: a proof ends in time although a vCenter does not respond to the login, which cannot be canceled.
func TestProveHanging(t *testing.T) {
	t.Parallel()
	providertest.CheckHanging(t, func(t *testing.T) providertest.Proof {
		spec := one(sim.VMSpec{Name: "node-1"})
		spec.InMemory = true
		vc := startVCenter(t, spec)
		vc.Inject("RetrieveServiceContent", simserver.Always(), simserver.Slow(4*time.Second))
		vc.Inject("Login", simserver.Always(), simserver.Slow(time.Hour)) // until the timeout of the call
		times := tuning{session: session.Options{Dial: vc.Dial, LoginGuard: login.NewGuard(login.DefaultLimits(), clock.RealClock{})}}

		return providertest.Proof{
			Reason: "a login has no response", Prove: provingWith(times), Text: configOf(vc), Scope: "vCenter vc", Err: "vCenter vc", Unanswered: true,
			Changes: func() []string { return left(vc) },
		}
	})
}

// newProofCloud starts a vCenter with two Nodes, and one whose VM is missing.
func newProofCloud(t *testing.T, name string) (*sim.VCenter, []*v1.Node) {
	t.Helper()
	vc := startVCenter(t, sim.VCenterSpec{Name: name, Datacenters: []sim.DatacenterSpec{
		{Name: "dc", VMs: []sim.VMSpec{{Name: "node-1"}, {Name: "node-2"}}}, {Name: "empty"},
	}})
	nodes := lists.Map(vc.VMs(), func(vm *sim.VM) *v1.Node { return kubetest.Node(vm.Name(), kubetest.ProviderID(id(vm))) })

	return vc, append(nodes, elsewhere("node-gone", kubetest.NotReady()))
}

// elsewhere is a Node whose VM no vCenter has.
func elsewhere(name string, options ...kubetest.NodeOption) *v1.Node {
	return kubetest.Node(name, append(options, kubetest.ProviderID("vsphere://42370000-0000-4000-8000-00000000dead"))...)
}

// proving proves in the environment of a test.
func proving() func(context.Context, provider.Candidate) (provider.Proof, error) {
	times := quick
	times.proof = time.Minute
	times.session.LoginGuard = login.NewGuard(login.DefaultLimits(), clock.RealClock{})

	return provingWith(times)
}

func provingWith(times tuning) func(context.Context, provider.Candidate) (provider.Proof, error) {
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
