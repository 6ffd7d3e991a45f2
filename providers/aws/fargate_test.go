package aws

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// fargateID is the provider ID of a Fargate node, whose name has the address.
func fargateID(f sim.Fargate) string {
	return "aws:///" + f.Zone + "/0123abcd/fargate-ip-" + strings.ReplaceAll(f.PrivateIP, ".", "-") + "." + "us-west-2.compute.internal"
}

func fargateOf(f sim.Fargate, options ...kubetest.NodeOption) *v1.Node {
	return node("", append([]kubetest.NodeOption{kubetest.ProviderID(fargateID(f))}, options...)...)
}

// TestFargate covers AWS-FARGATE-1, AWS-FARGATE-2 and AWS-FARGATE-3.
func TestFargate(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	full := r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2b"], IPv6: true})
	bare := r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2b"], NoDNS: true})
	c := r.connect(cloudTuning{}, "NodeIPFamilies = ipv4", "NodeIPFamilies = ipv6")
	internal := func(kind v1.NodeAddressType, address string) v1.NodeAddress {
		return v1.NodeAddress{Type: kind, Address: address}
	}
	cases := map[string]struct {
		reason string
		pod    sim.Fargate
		want   []v1.NodeAddress
	}{
		"both families": {"no Hostname; the name once, as the API server requires it", full, []v1.NodeAddress{
			internal(v1.NodeInternalIP, full.PrivateIP), internal(v1.NodeInternalDNS, full.PrivateDNSName), internal(v1.NodeInternalIP, full.IPv6),
		}},
		"no name, no ipv6": {"skipped if there is none", bare, []v1.NodeAddress{internal(v1.NodeInternalIP, bare.PrivateIP)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := fargateOf(tc.pod, kubetest.Tainted())
			want := &cloudprovider.InstanceMetadata{
				ProviderID: n.Spec.ProviderID, Zone: "us-west-2b", Region: "us-west-2", NodeAddresses: tc.want,
				AdditionalLabels: map[string]string{nodes.LabelZoneID: "usw2-az1"},
			}
			got, err := c.instances.InstanceMetadata(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if exists, err := c.instances.InstanceExists(t.Context(), n); !exists || err != nil {
				t.Errorf("InstanceExists is %t, %v", exists, err)
			}
			if shutdown, err := c.instances.InstanceShutdown(t.Context(), n); shutdown || err != nil {
				t.Errorf("AWS-FARGATE-3: InstanceShutdown of a running node is %t, %v", shutdown, err)
			}
		})
	}
	if n := r.Interceptor().Count(describeTopology); n != 0 {
		t.Errorf("a Fargate node has no type, and %d calls describe its topology", n)
	}
}

// TestFargateGone: without its network interface a Fargate node is gone.
func TestFargateGone(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	pod := r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2a"]})
	c := r.connect(quickly)
	r.findInstance(c)
	n := fargateOf(pod)
	exists := func(reason string, want, wantErr bool) {
		t.Helper()
		if got, err := c.instances.InstanceExists(t.Context(), n); got != want || (err != nil) != wantErr {
			t.Errorf("%s: InstanceExists is %t, %v", reason, got, err)
		}
	}
	exists("an attached network interface", true, false)
	r.Interceptor().Inject("DescribeNetworkInterfaces", simserver.Always(), sim.Throttled())
	exists("a failure proves nothing", false, true)
	r.Interceptor().Clear()
	r.Interceptor().Inject("DescribeNetworkInterfaces", simserver.Always(), loginPage)
	exists("a proxy's page proves nothing", false, true)
	r.Interceptor().Clear()
	r.RemoveInterface(pod.InterfaceID)
	exists("no network interface", false, false)
	if shutdown, err := c.instances.InstanceShutdown(t.Context(), n); shutdown || err != nil {
		t.Errorf("a node that is not there is not shut down: %t, %v", shutdown, err)
	}
	back := r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2a"], PrivateIP: pod.PrivateIP})
	if back.PrivateIP != pod.PrivateIP {
		t.Fatal("the address is not the same")
	}
	if _, err := c.instances.InstanceMetadata(t.Context(), n); err != nil {
		t.Errorf("a missing node is cached forever: %v", err)
	}
}

// TestFargateGoneWhileYoung: without any network interface of its address a
// Fargate node is gone whatever its age. One that is not attached, yet or any
// more, makes only an old one gone.
func TestFargateGoneWhileYoung(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	c := r.connect(quickly)
	r.findInstance(c)
	gone := r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2a"]})
	loose := r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2a"], Attachment: "detaching"})
	r.RemoveInterface(gone.InterfaceID)
	for name, tc := range map[string]struct {
		node   *v1.Node
		age    time.Duration
		exists bool
	}{
		"no interface":       {fargateOf(gone), time.Minute, false},
		"not attached":       {fargateOf(loose), time.Minute, true},
		"not attached later": {fargateOf(loose), time.Hour, false},
	} {
		tc.node.CreationTimestamp.Time = time.Now().Add(-tc.age)
		if exists, err := c.instances.InstanceExists(t.Context(), tc.node); exists != tc.exists || err != nil {
			t.Errorf("%s: InstanceExists is %t, %v", name, exists, err)
		}
	}
}

// TestFargateConfirmed: what Confirm finds, the next lookup returns.
func TestFargateConfirmed(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	c := r.connect(cloudTuning{})
	ref := instance.Ref{ProviderID: fargateID(sim.Fargate{Zone: "us-west-2a", PrivateIP: "10.0.64.20"})}
	lookUp := func() instance.Result { return c.source.Lookup(t.Context(), ref) }
	if got := lookUp(); !got.IsAbsent() {
		t.Errorf("want absent, got %s", got)
	}
	r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2a"], PrivateIP: "10.0.64.20"})
	if n := total(r.calls(func() { lookUp() })); n != 0 {
		t.Errorf("AWS-FARGATE-4: a node that is missing is looked up again at once")
	}
	for _, got := range []instance.Result{c.source.Confirm(t.Context(), ref), lookUp()} {
		if _, err := got.Get(); err != nil {
			t.Errorf("confirm and look up: %v", err)
		}
	}
}

// TestFargateBatch: many Fargate nodes cost one call (AWS-API-4).
func TestFargateBatch(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	var pods []sim.Fargate
	for range 20 {
		pods = append(pods, r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2a"]}))
	}
	c := r.connect(cloudTuning{source: nodes.Tuning{Window: 500 * time.Millisecond}})
	calls := r.calls(func() {
		for range 2 {
			parallel(20, pods, func(pod sim.Fargate) {
				if exists, err := c.instances.InstanceExists(t.Context(), fargateOf(pod)); !exists || err != nil {
					t.Errorf("InstanceExists is %t, %v", exists, err)
				}
			})
		}
	})
	if diff := cmp.Diff(map[string]int{"DescribeNetworkInterfaces": 1}, calls); diff != "" {
		t.Errorf("AWS-FARGATE-4: calls (-want +got):\n%s", diff)
	}
}
