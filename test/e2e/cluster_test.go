package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

const (
	systemNamespace = metav1.NamespaceSystem
	account         = "multicloud-controller-manager"
	leaseName       = "cloud-controller-manager"
)

// cluster is a control plane with the ServiceAccount of the chart (FW-START-8).
type cluster struct {
	*controlplane.ControlPlane

	// kubeconfig is the ServiceAccount's.
	kubeconfig string
	// granted are the permissions that the ServiceAccount has.
	granted rights
	// secret is the Secret in secretNamespace that it may read, if it is not empty.
	secret string
	// environment has the variables of processes, as NAME=value.
	environment []string
	// changed reports whether the test did what the next one would notice.
	changed bool
}

// The control plane is not used again after these.

func (c *cluster) Apply(ctx context.Context, manifest []byte) error {
	c.changed = true

	return c.ControlPlane.Apply(ctx, manifest)
}

func (c *cluster) PauseAPIServer() error {
	c.changed = true

	return c.ControlPlane.PauseAPIServer()
}

// startCluster returns an empty cluster that is the test's alone until it has
// ended.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := clusters.take()
	if c == nil {
		c = newCluster(t)
	}
	t.Cleanup(func() {
		if err := clusters.put(c, t.Failed()); err != nil {
			t.Error(err)
		}
	})

	return c
}

// starting bounds how many control planes start at the same time: each start keeps a processor busy,
// and the first tests begin when the first one is ready.
var starting = make(chan struct{}, runtime.NumCPU())

// newCluster runs a control plane. It stores objects as JSON, which age can
// read, and writes each request of a ServiceAccount to a file before it responds.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	policy, err := filepath.Abs(filepath.Join("testdata", "audit-policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	starting <- struct{}{}
	defer func() { <-starting }()
	cp, err := controlplane.Start(t.Context(), controlplane.Options{ExtraAPIServerArgs: []string{
		"--storage-media-type=application/json",
		"--audit-policy-file=" + policy, "--audit-log-path=" + auditFile, "--audit-log-mode=blocking",
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{ControlPlane: cp}
	c.kubeconfig, err = c.ServiceAccountKubeconfig(t.Context(), systemNamespace, account)
	if err != nil {
		ctx, cancel := ending()
		defer cancel()
		t.Fatal(errors.Join(err, cp.Stop(ctx)))
	}

	return c
}

// auditFile is where the requests are, below the directory of the control plane.
const auditFile = "audit.log"

func (c *cluster) auditLog() string { return filepath.Join(c.Dir(), auditFile) }

// makeSecretNamespace makes the namespace of Secrets, which later tests may find.
func (c *cluster) makeSecretNamespace(t *testing.T) {
	t.Helper()
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: secretNamespace}}
	_, err := c.Client().CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// makeNamespace makes a namespace with labels, each written as a line of YAML.
func (c *cluster) makeNamespace(t *testing.T, name string, labels ...string) {
	t.Helper()
	manifest := "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + name + "\n  labels: {" + strings.Join(labels, ", ") + "}\n"
	if err := c.Apply(t.Context(), []byte(manifest)); err != nil {
		t.Fatal(err)
	}
}

// join registers nodes the way their kubelets would.
func (c *cluster) join(t *testing.T, specs ...controlplane.NodeSpec) {
	t.Helper()
	if err := controlplane.RegisterNodes(t.Context(), c.Client(), specs); err != nil {
		t.Fatal(err)
	}
}

// setReady sets the condition Ready of nodes.
func (c *cluster) setReady(t *testing.T, status v1.ConditionStatus, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := controlplane.SetReady(t.Context(), c.Client(), name, status); err != nil {
			t.Fatal(err)
		}
	}
}

// node returns a node as it is now.
func (c *cluster) node(t *testing.T, name string) *v1.Node {
	t.Helper()
	node, err := c.Client().CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	return node
}

// awaitNode waits for what a controller does to a node.
func (c *cluster) awaitNode(t *testing.T, name, what string, check func(*v1.Node) error) {
	t.Helper()
	await(t, fmt.Sprintf("node %s %s", name, what), func(ctx context.Context) error {
		node, err := c.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}

		return check(node)
	})
}

// awaitInitialized waits until the cloud's part of setting nodes up is done.
func (c *cluster) awaitInitialized(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		c.awaitNode(t, name, "to be initialized", func(node *v1.Node) error {
			switch state := stateOf(node); {
			case state.has(uninitialized):
				return errors.New("it has the taint")
			case state.ProviderID == "" || len(state.Addresses) < 2:
				return fmt.Errorf("it lacks a providerID or an address: %+v", state)
			}

			return nil
		})
	}
}

// awaitGone waits until a node has been deleted.
func (c *cluster) awaitGone(t *testing.T, name string) {
	t.Helper()
	await(t, "node "+name+" to be deleted", func(ctx context.Context) error {
		_, err := c.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = errors.New("it is there")
		}

		return err
	})
}

// lease returns the lease of the leader.
func (c *cluster) lease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	lease, err := c.Client().CoordinationV1().Leases(systemNamespace).Get(t.Context(), leaseName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	return lease
}

// expireLease shortens the lease of a leader that has ended without releasing it.
func (c *cluster) expireLease(t *testing.T) {
	t.Helper()
	patch := []byte(`{"spec":{"leaseDurationSeconds":1}}`)
	if _, err := c.Client().CoordinationV1().Leases(systemNamespace).Patch(t.Context(), leaseName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// as returns how to reach servers as a ServiceAccount.
func (c *cluster) as(t *testing.T, namespace, name string) *rest.Config {
	t.Helper()
	path, err := c.ServiceAccountKubeconfig(t.Context(), namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}

	return config
}

// The taints that the cloud's state of a node sets or removes.
const (
	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"
	shutdown      = "node.cloudprovider.kubernetes.io/shutdown:NoSchedule"
)

// nodeState is what a cloud controller manager sets.
type nodeState struct {
	ProviderID string
	Taints     []string
	// Labels are those that no kubelet sets.
	Labels map[string]string
	// Addresses are ordered by type: a patch of a status keeps the order within
	// each type alone.
	Addresses []v1.NodeAddress
}

// addressTypes is the order in which addresses are compared.
var addressTypes = []v1.NodeAddressType{v1.NodeHostName, v1.NodeInternalIP, v1.NodeExternalIP, v1.NodeInternalDNS, v1.NodeExternalDNS}

func stateOf(node *v1.Node) nodeState {
	state := nodeState{ProviderID: node.Spec.ProviderID, Labels: map[string]string{}, Addresses: slices.Clone(node.Status.Addresses)}
	slices.SortStableFunc(state.Addresses, func(a, b v1.NodeAddress) int {
		return cmp.Compare(slices.Index(addressTypes, a.Type), slices.Index(addressTypes, b.Type))
	})
	for _, taint := range node.Spec.Taints {
		state.Taints = append(state.Taints, taint.ToString())
	}
	for key, value := range node.Labels {
		if key != v1.LabelHostname && !strings.HasSuffix(key, "/os") && !strings.HasSuffix(key, "/arch") {
			state.Labels[key] = value
		}
	}

	return state
}

func (s nodeState) has(taint string) bool {
	return slices.Contains(s.Taints, taint)
}

// tainted checks for a taint.
func tainted(taint string) func(*v1.Node) error {
	return func(node *v1.Node) error {
		if state := stateOf(node); !state.has(taint) {
			return fmt.Errorf("its taints are %q", state.Taints)
		}

		return nil
	}
}

// initializeByHand removes the taint as another cloud's controller would.
func (c *cluster) initializeByHand(t *testing.T, name string) {
	t.Helper()
	node := c.node(t, name)
	node.Spec.Taints = nil
	if _, err := c.Client().CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// stealLease assigns the lease to another holder for an hour.
func (c *cluster) stealLease(ctx context.Context) error {
	leases := c.Client().CoordinationV1().Leases(systemNamespace)
	lease, err := leases.Get(ctx, leaseName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	lease.Spec.HolderIdentity = new("another holder")
	lease.Spec.LeaseDurationSeconds = new(int32(time.Hour.Seconds()))
	lease.Spec.RenewTime = new(metav1.NowMicro())
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})

	return err
}
