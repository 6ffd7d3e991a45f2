//go:build e2ecluster

package e2ecluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/test/clouds"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
	"github.com/multicloud-ccm/multicloud-ccm/test/inventory"
)

const (
	system       = metav1.NamespaceSystem
	controlPlane = "node-role.kubernetes.io/control-plane"

	// patience bounds a wait for something that happens at once, leaderPatience one for a leader,
	// and podPatience one for a Pod, whose container may wait for a backoff.
	patience       = time.Minute
	leaderPatience = 2 * time.Minute
	podPatience    = 3 * time.Minute
	period         = 100 * time.Millisecond
)

// cluster is the cluster of the tests, with a simulated cloud for each provider.
type cluster struct {
	config     *rest.Config
	client     kubernetes.Interface
	kubeconfig string
	// node is the name of the one with a kubelet.
	node string

	clouds *clouds.Clouds
	// more is a vCenter that a changed cloud-config adds.
	more *vsphere.VCenter
	// values are those of the chart for all providers.
	values map[string]any

	release  *release
	election *election
	// before is what was in the cluster before the first installation.
	before inventory.Objects
	// figures are what was measured, in order.
	figures []string
}

// connect checks the settings, loads the image and starts the clouds.
func connect(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{kubeconfig: required(t, kubeconfigVariable)}
	address, archive, loader := required(t, addressVariable), required(t, archiveVariable), required(t, loaderVariable)
	var err error
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig); err != nil {
		t.Fatal(err)
	}
	c.config.QPS = -1
	if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
		t.Fatal(err)
	}
	c.findNode(t)
	c.startClouds(t, address)
	began := time.Now()
	if err := execute(within(t, podPatience), loader, archive); err != nil {
		t.Fatal(err)
	}
	c.measure(t, "the image is loaded", began)
	repository, tag, err := imageOf(archive)
	if err != nil {
		t.Fatal(err)
	}
	registry, name, _ := strings.Cut(repository, "/")
	c.values["image"] = map[string]any{"registry": registry, "repository": name, "tag": tag, "pullPolicy": "Never"}
	c.release = c.newRelease(t, "ccm", helm.Four)
	c.election = follow(t, c.client)
	await(t, patience, "the Lease of the kubelet", func(ctx context.Context) error {
		if c.before, err = inventory.List(ctx, c.config); err == nil && c.before["Lease "+v1.NamespaceNodeLease+"/"+c.node] == nil {
			err = errors.New("it has none yet")
		}

		return err
	})

	return c
}

// findNode finds the only Node, which must not have been initialized, and makes it one of the
// control plane if it is not.
func (c *cluster) findNode(t *testing.T) {
	t.Helper()
	nodes, err := c.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 1 {
		t.Fatalf("the cluster has %d nodes.\n%s", len(nodes.Items), howTo)
	}
	node := &nodes.Items[0]
	waiting := func(taint v1.Taint) bool { return taint.Key == cloudproviderapi.TaintExternalCloudProvider }
	if node.Spec.ProviderID != "" || !slices.ContainsFunc(node.Spec.Taints, waiting) {
		t.Fatalf("node %s has the provider ID %q and the taints %v: it does not wait to be initialized.\n%s", node.Name, node.Spec.ProviderID, node.Spec.Taints, howTo)
	}
	c.node = node.Name
	if _, there := node.Labels[controlPlane]; !there {
		c.patchNode(t, fmt.Sprintf(`{"metadata":{"labels":{%q:""}}}`, controlPlane))
	}
	version, err := c.client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	info := node.Status.NodeInfo
	t.Logf("API server %s, kubelet %s, %s, kernel %s, %s", version.GitVersion, info.KubeletVersion, info.ContainerRuntimeVersion, info.KernelVersion, info.OSImage)
}

func (c *cluster) patchNode(t *testing.T, patch string) {
	t.Helper()
	if _, err := c.client.CoreV1().Nodes().Patch(t.Context(), c.node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// startClouds runs the clouds until the test has ended. The machine of the node is a VM.
func (c *cluster) startClouds(t *testing.T, address string) {
	t.Helper()
	vm := func(name, address string) vsphere.VMSpec {
		return vsphere.VMSpec{Name: name, NICs: []vsphere.NIC{{IPs: []string{address}}}}
	}
	var err error
	if c.clouds, err = clouds.Start(3, vm(c.node, address)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, c.clouds.Close()) })
	more, err := vsphere.Start(vsphere.Spec{VCenters: []vsphere.VCenterSpec{{
		Name: "more", Datacenters: []vsphere.DatacenterSpec{{Name: "more", VMs: []vsphere.VMSpec{vm("more-0", "10.1.1.1")}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, more.Close()) })
	c.more = more.VCenter("more")
	if c.values, err = c.clouds.Values(); err != nil {
		t.Fatal(err)
	}
	certificates := string(c.clouds.VCenter.CertificatePEM()) + string(c.more.CertificatePEM())
	bundle := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cloud-ca"}, Data: map[string]string{"ca.crt": certificates}}
	bundles := c.client.CoreV1().ConfigMaps(system)
	_, err = bundles.Create(t.Context(), bundle, metav1.CreateOptions{})
	c.made(t, err, bundle.Name, bundles.Delete)
}

// made checks that an object was made, and deletes it when the test has ended.
func (c *cluster) made(t *testing.T, err error, name string, remove func(context.Context, string, metav1.DeleteOptions) error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, remove(within(t, patience), name, metav1.DeleteOptions{})) })
}

func closed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// state is what the controller sets on a Node, and what must stay.
type state struct {
	UID         types.UID
	ProviderID  string
	Labels      map[string]string
	Annotations map[string]string
	Addresses   []v1.NodeAddress
	Taints      []string
}

// state returns that of the node.
func (c *cluster) state(t *testing.T) state {
	t.Helper()
	node, err := c.client.CoreV1().Nodes().Get(t.Context(), c.node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := state{
		UID: node.UID, ProviderID: node.Spec.ProviderID, Labels: maps.Clone(node.Labels),
		Annotations: maps.Clone(node.Annotations), Addresses: node.Status.Addresses,
	}
	for _, taint := range node.Spec.Taints {
		s.Taints = append(s.Taints, taint.ToString())
	}

	return s
}

// wantState checks that the node is as it was.
func (c *cluster) wantState(t *testing.T, want state) {
	t.Helper()
	if diff := cmp.Diff(want, c.state(t)); diff != "" {
		t.Errorf("node %s has changed (-before +now):\n%s", c.node, diff)
	}
}

// initialized waits until a Node is initialized.
func (c *cluster) initialized(t *testing.T, name string) *v1.Node {
	t.Helper()
	var node *v1.Node
	await(t, leaderPatience, "node "+name+" to be initialized", func(ctx context.Context) error {
		var err error
		if node, err = c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		for _, taint := range node.Spec.Taints {
			if taint.Key == cloudproviderapi.TaintExternalCloudProvider {
				return errors.New("it has the taint")
			}
		}

		return nil
	})

	return node
}

// measure prints and keeps how long something took.
func (c *cluster) measure(t *testing.T, what string, began time.Time) {
	t.Helper()
	c.figure(t, what, round(time.Since(began)).String())
}

func (c *cluster) figure(t *testing.T, what, figure string) {
	t.Helper()
	line := fmt.Sprintf("| %s | %s | %s |", t.Name(), what, figure)
	c.figures = append(c.figures, line)
	t.Log(line)
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// await polls until check has nothing to complain about.
func await(t *testing.T, limit time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	ctx := within(t, limit)
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("wait for %s: %v: %v", what, context.Cause(ctx), err)
		case <-time.After(period):
		}
	}
}

// within is a context that ends after a time. In contrast to that of the test, it can be used at its end.
func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	t.Cleanup(cancel)

	return ctx
}
