package aws

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestStates covers AWS-NODE-1 and AWS-NODE-2.
func TestStates(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	c := r.connect(quickly)
	cases := map[string]struct {
		reason           string
		state            string
		exists, shutdown bool
	}{
		"pending":       {"it may already run", sim.Pending, true, false},
		"running":       {"it runs", sim.Running, true, false},
		"stopping":      {"not shut down yet", sim.Stopping, true, false},
		"stopped":       {"the only state that is shut down", sim.Stopped, true, true},
		"shutting-down": {"exists", sim.ShuttingDown, true, false},
		"terminated":    {"gone", sim.Terminated, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := node(r.seed.AddNode(sim.InstanceSpec{State: tc.state}))
			if exists, err := c.instances.InstanceExists(t.Context(), n); exists != tc.exists || err != nil {
				t.Errorf("%s: InstanceExists is %t, %v", tc.reason, exists, err)
			}
			shutdown, err := c.instances.InstanceShutdown(t.Context(), n)
			if shutdown != tc.shutdown || err != nil {
				t.Errorf("%s: InstanceShutdown is %t, %v", tc.reason, shutdown, err)
			}
		})
	}
}

// old is a Node that was registered long ago.
func old(providerID string) *v1.Node {
	return kubetest.Node("x", kubetest.ProviderID(providerID), kubetest.CreatedAt(time.Unix(1, 0)))
}

// TestGone (FW-NODE-2, FW-NODE-6): what makes a Node gone, and what does not.
func TestGone(t *testing.T) {
	t.Parallel()
	const missingID = "i-0123456789abcdef0"
	cases := map[string]struct {
		reason string
		node   *v1.Node
		fault  simserver.Fault
		gone   bool
		err    bool
	}{
		"no such instance":  {"InvalidInstanceID.NotFound", node(missingID), nil, true, false},
		"malformed":         {"InvalidInstanceID.Malformed is an error", node("i-malformed"), nil, false, true},
		"throttled":         {"throttling is an error", node(missingID), sim.Throttled(), false, true},
		"denied":            {"auth is an error", node(missingID), sim.Denied(), false, true},
		"bad credentials":   {"auth is an error", node(missingID), sim.Error(401, "AuthFailure", "AWS was not able to validate the provided access credentials"), false, true},
		"no EC2 there":      {"FW-NODE-6: no response is no result", node(missingID), simserver.Drop(), false, true},
		"wrong page":        {"AWS-NODE-4: the page of a proxy is no response of EC2", node(missingID), simserver.Status(404), false, true},
		"login page":        {"nor does one that is well-formed", node(missingID), loginPage, false, true},
		"young":             {"it may not be visible yet", node(missingID, kubetest.CreatedAt(time.Now().Add(time.Hour))), nil, false, false},
		"no providerID":     {"kept, without an error at each pass", kubetest.Node("missing", kubetest.CreatedAt(time.Unix(1, 0))), nil, false, false},
		"other region":      {"our region does not have it", kubetest.Node("x", kubetest.ProviderID("aws:///eu-central-1a/"+missingID)), nil, false, true},
		"other local zone":  {"it belongs to another region", kubetest.Node("x", kubetest.ProviderID("aws:///us-east-1-bos-1a/"+missingID)), nil, false, true},
		"local zone":        {"it belongs to the region", old("aws:///us-west-2-lax-1a/" + missingID), nil, true, false},
		"wavelength zone":   {"it belongs to the region", old("aws:///us-west-2-wl1-sfo-wlz-1/" + missingID), nil, true, false},
		"no zone":           {"the ID does not contain the region", old("aws:////" + missingID), nil, true, false},
		"another cloud":     {"AWS-ID-2: ignored", node(missingID, kubetest.ProviderID("gce://p/z/"+missingID)), nil, false, false},
		"volume":            {"a parse error is an error", node("vol-1"), nil, false, true},
		"resource name":     {"kept like any without a providerID", kubetest.Node(missingID+".ec2.internal", kubetest.CreatedAt(time.Unix(1, 0))), nil, false, false},
		"bad resource name": {"no instance ID in it", kubetest.Node("i-.ec2.internal", kubetest.CreatedAt(time.Unix(1, 0))), nil, false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{})
			c := r.connect(quickly)
			r.findInstance(c)
			if tc.fault != nil {
				r.Interceptor().Inject(simserver.Any, simserver.Always(), tc.fault)
			}
			exists, err := c.instances.InstanceExists(t.Context(), tc.node)
			if (err != nil) != tc.err || (!exists && err == nil) != tc.gone {
				t.Errorf("%s: InstanceExists is %t, %v", tc.reason, exists, err)
			}
		})
	}
}

// TestOtherRegion (AWS-ID-6): the Nodes of a copied configuration, or of one with
// the wrong region, are kept, with an Event.
func TestOtherRegion(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	c := r.connect(quickly)
	recorder := record.NewFakeRecorder(10)
	c.instances.SetRecorder(recorder)
	for name, tc := range map[string]struct {
		node   *v1.Node
		reason instance.Reason
		err    bool
	}{
		"another region": {old("aws:///eu-central-1a/i-0123456789abcdef0"), instance.ReasonOtherRegion, true},
		"Fargate":        {old("aws:///eu-central-1a/x/fargate-ip-10-0-1-2.ec2.internal"), instance.ReasonOtherRegion, true},
		"nothing found":  {old("aws:///us-west-2a/i-0123456789abcdef0"), instance.ReasonNoInstanceFound, false},
	} {
		exists, err := c.instances.InstanceExists(t.Context(), tc.node)
		if exists == tc.err || tc.err && instance.ReasonOf(err) != tc.reason {
			t.Errorf("%s: InstanceExists is %t, %v", name, exists, err)
		}
		if event := <-recorder.Events; !strings.Contains(event, "Warning "+string(tc.reason)) {
			t.Errorf("%s: the event is %q", name, event)
		}
	}
}

// TestEvidence: what another account may have as well does not show that the
// cloud-config names the account of this cluster.
func TestEvidence(t *testing.T) {
	t.Parallel()
	const name = "ip-10-0-0-9.us-west-2.compute.internal"
	cases := map[string]struct {
		reason string
		node   func(r *region) *v1.Node
		gone   bool
	}{
		"instance ID": {"no other instance has it", func(r *region) *v1.Node { return node(r.seed.AddNode(sim.InstanceSpec{})) }, true},
		"terminated":  {"it was in this account", func(r *region) *v1.Node { return node(r.seed.AddNode(sim.InstanceSpec{State: sim.Terminated})) }, true},
		"resource name": {"it is the instance ID", func(r *region) *v1.Node {
			return kubetest.Node(r.seed.AddNode(sim.InstanceSpec{})+".us-west-2.compute.internal", kubetest.Tainted())
		}, true},
		"private DNS name": {"each VPC may have it", func(r *region) *v1.Node {
			r.seed.AddNode(sim.InstanceSpec{PrivateDNSName: name})

			return kubetest.Node(name, kubetest.Tainted())
		}, false},
		"IP address": {"each VPC may have it", func(r *region) *v1.Node {
			return fargateOf(r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2a"]}))
		}, false},
		"nothing": {"the instance is missing", func(*region) *v1.Node { return node("i-0123456789abcdef1") }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{})
			c := r.connect(quickly)
			n := tc.node(r)
			if _, err := c.instances.InstanceMetadata(t.Context(), n); err != nil && name != "nothing" && name != "terminated" {
				t.Fatal(err)
			}
			exists, err := c.instances.InstanceExists(t.Context(), node("i-0123456789abcdef0"))
			if exists == tc.gone || err != nil {
				t.Errorf("%s: a missing instance exists %t, %v", tc.reason, exists, err)
			}
		})
	}
}

// TestEvidenceSince (AWS-NODE-5): after the credentials changed to ones that may
// be of another account, the inventory has instances of the old one for a while.
func TestEvidenceSince(t *testing.T) {
	t.Parallel()
	times := nodes.Tuning{MaxAge: 30 * time.Second, Timeout: 20 * time.Second}
	changed := time.Now()
	if got := evidenceSince(changed, times).Sub(changed); got != 110*time.Second {
		t.Errorf("instances are evidence %s after the change", got)
	}
	if got := evidenceSince(time.Time{}, times); !got.IsZero() {
		t.Errorf("without a change instances are evidence since %s", got)
	}
}

// TestTerminatedYoungIsGone: EC2 lists a terminated instance for a while, which
// proves more than that it is not visible yet.
func TestTerminatedYoungIsGone(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	c := r.connect(quickly)
	n := node(r.seed.AddNode(sim.InstanceSpec{State: sim.Terminated}), kubetest.CreatedAt(time.Now()), kubetest.Tainted())
	if exists, err := c.instances.InstanceExists(t.Context(), n); exists || err != nil {
		t.Errorf("InstanceExists is %t, %v", exists, err)
	}
}

// loginPage is the response of a proxy that requires a login. It is XML.
func loginPage(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	_, _ = io.WriteString(w, "<html><body>Please log in</body></html>")
}

// TestGoneByName: with [NodeDeletion] by-name a Node without providerID is gone
// when no instance at all has its name.
func TestGoneByName(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	r.seed.AddNode(sim.InstanceSpec{PrivateDNSName: "tagged"})
	r.AddInstance(sim.InstanceSpec{PrivateDNSName: "untagged", InterfaceSpec: sim.InterfaceSpec{Subnet: r.seed.Private["us-west-2a"]}})
	c := r.connectFile(quickly, r.file()+"[NodeDeletion]\nby-name = true\n")
	r.findInstance(c)
	cases := map[string]struct {
		reason string
		exists bool
		err    bool
	}{
		"missing":             {"gone", false, false},
		"tagged":              {"exists", true, false},
		"untagged":            {"AWS-ID-5: looked up without the tag filter, so it is not gone", false, true},
		"i-0123456789abcdef0": {"the ID in the name is gone", false, false},
		"i-web":               {"AWS-ID-5: a name that EC2 does not accept as an ID is not gone", false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			exists, err := c.instances.InstanceExists(t.Context(), kubetest.Node(name, kubetest.CreatedAt(time.Unix(1, 0))))
			if exists != tc.exists || (err != nil) != tc.err {
				t.Errorf("%s: InstanceExists is %t, %v", tc.reason, exists, err)
			}
			if reason := instance.ReasonOf(err); (reason == instance.ReasonInstanceNotFound) != (name == "untagged") {
				t.Errorf("%s: the user gets %q", tc.reason, reason)
			}
		})
	}
}

// TestMetadata goes through InstanceMetadata (AWS-NODE-3, AWS-ID-1).
func TestMetadata(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	id := r.seed.AddNode(sim.InstanceSpec{
		Type: "p4d.24xlarge", NetworkNodes: []string{"nn-1", "nn-2", "nn-3"},
		InterfaceSpec: sim.InterfaceSpec{PrivateIPs: []string{"10.0.64.10", "10.0.64.11"}, IPv6s: []string{"2001:db8::a"}, Public: true},
	})
	described := r.description(id)
	want := &cloudprovider.InstanceMetadata{
		ProviderID: "aws:///us-west-2a/" + id, InstanceType: "p4d.24xlarge", Zone: "us-west-2a", Region: "us-west-2",
		NodeAddresses: []v1.NodeAddress{
			{Type: v1.NodeInternalIP, Address: "2001:db8::a"},
			{Type: v1.NodeInternalIP, Address: "10.0.64.10"},
			{Type: v1.NodeInternalIP, Address: "10.0.64.11"},
			{Type: v1.NodeExternalIP, Address: described.PublicIP},
			{Type: v1.NodeInternalDNS, Address: "ip-10-0-64-10.us-west-2.compute.internal"},
			{Type: v1.NodeHostName, Address: "ip-10-0-64-10.us-west-2.compute.internal"},
			{Type: v1.NodeExternalDNS, Address: described.PublicDNSName},
		},
		AdditionalLabels: map[string]string{
			"topology.k8s.aws/zone-id":              "usw2-az2",
			"topology.k8s.aws/network-node-layer-1": "nn-1",
			"topology.k8s.aws/network-node-layer-2": "nn-2",
			"topology.k8s.aws/network-node-layer-3": "nn-3",
		},
	}
	c := r.connect(cloudTuning{}, "NodeIPFamilies = ipv6", "NodeIPFamilies = ipv4")
	cases := map[string]struct {
		reason string
		node   *v1.Node
		want   func(m *cloudprovider.InstanceMetadata)
	}{
		"by ID":       {"by the ID of the instance", node(id, kubetest.Tainted()), nil},
		"by name":     {"by the private DNS name", kubetest.Node("ip-10-0-64-10.us-west-2.compute.internal", kubetest.Tainted()), nil},
		"initialized": {"only the addresses count", node(id), func(m *cloudprovider.InstanceMetadata) { m.AdditionalLabels = nil }},
		"bare ID": {
			"the provider ID as given", kubetest.Node("x", kubetest.Tainted(), kubetest.ProviderID(id)),
			func(m *cloudprovider.InstanceMetadata) { m.ProviderID = id },
		},
		"labeled zone": {
			"not if the Node has it", node(id, kubetest.Tainted(), kubetest.Labeled("topology.k8s.aws/zone-id", "mine")),
			func(m *cloudprovider.InstanceMetadata) { delete(m.AdditionalLabels, "topology.k8s.aws/zone-id") },
		},
		"labeled layer": {
			"not if the Node has layer 1", node(id, kubetest.Tainted(), kubetest.Labeled("topology.k8s.aws/network-node-layer-1", "mine")),
			func(m *cloudprovider.InstanceMetadata) {
				m.AdditionalLabels = map[string]string{"topology.k8s.aws/zone-id": "usw2-az2"}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := *want
			want.AdditionalLabels = maps.Clone(want.AdditionalLabels)
			if tc.want != nil {
				tc.want(&want)
			}
			got, err := c.instances.InstanceMetadata(t.Context(), tc.node)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// description is an instance as EC2 describes it.
func (r *region) description(id string) *inventory.Instance {
	r.t.Helper()
	found, err := r.connect(cloudTuning{}).inventory.Confirm(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}

	return found
}

// TestAmbiguousName (FW-NODE-12): two instances with one name are an error with
// an Event.
func TestAmbiguousName(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	for range 2 {
		r.seed.AddNode(sim.InstanceSpec{PrivateDNSName: "shared"})
	}
	c := r.connect(quickly)
	_, err := c.instances.InstanceMetadata(t.Context(), kubetest.Node("shared", kubetest.Tainted()))
	if err == nil || instance.ReasonOf(err) != instance.ReasonAmbiguousInstance {
		t.Errorf("AWS-ID-4: want an error with the reason %s, got %v", instance.ReasonAmbiguousInstance, err)
	}
}

// TestSparseResponses: an instance without state and placement exists, and
// nothing else is reported about it (AWS-API-1).
func TestSparseResponses(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	n := node(r.seed.AddNodes(1)[0], kubetest.Tainted())
	r.SetSparse(true)
	c := r.connect(quickly)
	if exists, err := c.instances.InstanceExists(t.Context(), n); !exists || err != nil {
		t.Errorf("AWS-API-1: InstanceExists is %t, %v", exists, err)
	}
	if shutdown, err := c.instances.InstanceShutdown(t.Context(), n); shutdown || err == nil {
		t.Errorf("AWS-API-1: a state that is not known is no shutdown: got %t, %v", shutdown, err)
	}
	if got, err := c.instances.InstanceMetadata(t.Context(), n); err == nil {
		t.Errorf("AWS-API-1: labels without a zone would stay forever: got %v", got)
	}
	initialized := node(n.Spec.ProviderID[len("aws:///us-west-2a/"):])
	if got, err := c.instances.InstanceMetadata(t.Context(), initialized); err != nil || len(got.NodeAddresses) == 0 {
		t.Errorf("AWS-API-1: the addresses are known: got %v, %v", got, err)
	}
}
