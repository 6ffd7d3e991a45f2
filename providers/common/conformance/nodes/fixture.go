package nodes

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// machine is an instance of the test cloud.
type machine = harness.Machine

// fixture is what one case works with: a new test cloud, and the provider once it
// is connected.
type fixture struct {
	*harness.Fixture[conformance.Cloud]
	adapter  Adapter
	provider cloudprovider.Interface
	nodes    cloudprovider.InstancesV2
}

// newFixture makes the test cloud of one case.
func newFixture(t testing.TB, adapter Adapter) *fixture {
	t.Helper()
	limits := harness.Limits{Timeout: adapter.Timeout, NoticeTime: adapter.NoticeTime}

	return &fixture{Fixture: harness.NewFixture(t, adapter.NewCloud(t), limits), adapter: adapter}
}

// connect starts the provider.
func (f *fixture) connect() {
	f.T.Helper()
	f.provider = f.Cloud.Connect(f.T)
	nodes, ok := f.provider.InstancesV2()
	if !ok || nodes == nil {
		f.T.Fatal("the provider does not offer InstancesV2")
	}
	f.nodes = nodes
}

// call makes one call of InstancesV2. It must not change the Node.
func call[T any](f *fixture, what string, node *v1.Node, method func(context.Context, *v1.Node) (T, error)) (T, error) {
	f.T.Helper()
	before := node.DeepCopy()
	value, err := harness.Call(f.Fixture, what+" of node "+node.Name, func(ctx context.Context) (T, error) { return method(ctx, node) })
	if errors.Is(err, harness.ErrNoResult) {
		return value, err
	}
	if !equality.Semantic.DeepEqual(before, node) { // a diff is slow
		f.T.Errorf("%s changed the Node (-before +after):\n%s", what, cmp.Diff(before, node))
	}

	return value, err
}

// exists returns whether the node's instance exists.
func (f *fixture) exists(node *v1.Node) (bool, error) {
	f.T.Helper()

	return call(f, "InstanceExists", node, f.nodes.InstanceExists)
}

// shutdown returns whether the node's instance is shut down.
func (f *fixture) shutdown(node *v1.Node) (bool, error) {
	f.T.Helper()

	return call(f, "InstanceShutdown", node, f.nodes.InstanceShutdown)
}

// metadata returns the node's metadata. Nil for an initialized node would end the
// process, so it is never right.
func (f *fixture) metadata(node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	f.T.Helper()
	m, err := call(f, "InstanceMetadata", node, f.nodes.InstanceMetadata)
	if m == nil && err == nil && instance.Initialized(node) {
		f.T.Errorf("InstanceMetadata of the initialized node %s is nil without an error", node.Name)
	}

	return m, err
}

// results are those of the three queries for one node.
type results struct {
	exists, shutdown                    bool
	metadata                            *cloudprovider.InstanceMetadata
	existsErr, shutdownErr, metadataErr error
}

// gone reports whether the node lifecycle controller would delete the node.
func (r results) gone() bool { return !r.exists && r.existsErr == nil }

// errs are the three errors by the name of the method.
func (r results) errs() map[string]error {
	return map[string]error{
		"InstanceExists": r.existsErr, "InstanceShutdown": r.shutdownErr, "InstanceMetadata": r.metadataErr,
	}
}

// query makes all queries for all nodes at once, only metadata after existence:
// of the two, the first may save the call of the second, and the existence is what
// nodes are deleted by.
func (f *fixture) query(nodes ...*v1.Node) []results {
	f.T.Helper()
	all := make([]results, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		r := &all[i]
		wg.Go(func() {
			r.exists, r.existsErr = f.exists(node)
			r.metadata, r.metadataErr = f.metadata(node)
		})
		wg.Go(func() { r.shutdown, r.shutdownErr = f.shutdown(node) })
	}
	wg.Wait()

	return all
}

// tainted makes it a node that is not initialized yet.
func tainted(node *v1.Node) {
	node.Spec.Taints = append(node.Spec.Taints,
		v1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule})
}

// young makes it a node that was registered just now.
func young(node *v1.Node) { node.CreationTimestamp = metav1.Now() }

// withUUID sets another system UUID, or none.
func withUUID(uuid string) harness.NodeOption {
	return func(node *v1.Node) { node.Status.NodeInfo.SystemUUID = uuid }
}

// withName sets another name.
func withName(name string) harness.NodeOption {
	return func(node *v1.Node) { node.Name = name }
}
