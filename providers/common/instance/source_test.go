package instance_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// The cloud of these tests is called "sim"; sim://<id> and a bare sim-<id> are
// its IDs.
const (
	provider = "sim"
	ownID    = "sim://one"
	bareID   = "sim-one"
)

var (
	errCloud = errors.New("the cloud is down")
	errID    = errors.New("not an ID of sim")
	epoch    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// machine is an instance with a fixed state.
type machine struct {
	id    string
	state instance.State
}

func (m machine) ProviderID() string    { return m.id }
func (m machine) State() instance.State { return m.state }

func found(state instance.State) instance.Result {
	return instance.Found(machine{id: ownID, state: state})
}

// source returns what a test sets, and counts calls.
type source struct {
	lookup   func(context.Context, instance.Ref) instance.Result
	confirm  func(context.Context, instance.Ref) instance.Result
	metadata func(context.Context, *v1.Node, instance.Instance) (*cloudprovider.InstanceMetadata, error)

	lookups, confirms, describes atomic.Int64
}

var _ instance.Source = (*source)(nil)

// newSource returns the same results for every Lookup and Confirm.
func newSource(lookup, confirm instance.Result) *source {
	s := &source{}
	s.setResults(lookup, confirm)
	s.metadata = func(context.Context, *v1.Node, instance.Instance) (*cloudprovider.InstanceMetadata, error) {
		return &cloudprovider.InstanceMetadata{InstanceType: "small"}, nil
	}

	return s
}

func (s *source) setResults(lookup, confirm instance.Result) {
	s.lookup = func(context.Context, instance.Ref) instance.Result { return lookup }
	s.confirm = func(context.Context, instance.Ref) instance.Result { return confirm }
}

// calls is the number of queries that could have cost a cloud call.
func (s *source) calls() int64 {
	return s.lookups.Load() + s.confirms.Load() + s.describes.Load()
}

func (s *source) Accepts(id string) error {
	if rest, ok := strings.CutPrefix(id, "sim://"); ok && rest != "" && !strings.Contains(rest, "/") {
		return nil
	}
	if strings.HasPrefix(id, "sim-") {
		return nil
	}

	return errID
}

func (s *source) Lookup(ctx context.Context, ref instance.Ref) instance.Result {
	s.lookups.Add(1)

	return s.lookup(ctx, ref)
}

func (s *source) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	s.confirms.Add(1)

	return s.confirm(ctx, ref)
}

func (s *source) Metadata(ctx context.Context, node *v1.Node, i instance.Instance) (*cloudprovider.InstanceMetadata, error) {
	s.describes.Add(1)

	return s.metadata(ctx, node, i)
}

// newNode is a node that was made an hour before epoch and is initialized.
func newNode(providerID string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              "node-1",
			UID:               types.UID("uid-1"),
			CreationTimestamp: metav1.NewTime(epoch.Add(-time.Hour)),
		},
		Spec: v1.NodeSpec{ProviderID: providerID},
		Status: v1.NodeStatus{
			NodeInfo: v1.NodeSystemInfo{SystemUUID: "4237"},
		},
	}
}

// taint makes the node one that is not initialized yet.
func taint(node *v1.Node) *v1.Node {
	node.Spec.Taints = append(node.Spec.Taints,
		v1.Taint{Key: "example.com/busy", Effect: v1.TaintEffectNoSchedule},
		v1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "any", Effect: v1.TaintEffectNoExecute},
	)

	return node
}

// prove lets V2 find the instance of another node, without which no missing one
// is gone.
func prove(t *testing.T, v2 *instance.V2, s *source) {
	t.Helper()
	lookup := s.lookup
	defer func() { s.lookup = lookup }()
	s.lookup = func(context.Context, instance.Ref) instance.Result {
		return instance.Found(machine{id: "sim://other", state: instance.Running})
	}
	if exists, err := v2.InstanceExists(t.Context(), newNode("sim://other")); !exists || err != nil {
		t.Fatalf("another instance exists %t, %v", exists, err)
	}
}

// discardLogs returns the test's context without a logger.
func discardLogs(t *testing.T) context.Context {
	t.Helper()

	return klog.NewContext(t.Context(), klog.Logger{})
}

// all makes the three queries and returns their errors.
func all(t *testing.T, v2 *instance.V2, node *v1.Node) (exists, shutdown bool, metadata *cloudprovider.InstanceMetadata, errs [3]error) {
	t.Helper()
	before := node.DeepCopy()
	exists, errs[0] = v2.InstanceExists(t.Context(), node)
	shutdown, errs[1] = v2.InstanceShutdown(t.Context(), node)
	metadata, errs[2] = v2.InstanceMetadata(t.Context(), node)
	mustEqual(t, "the node", before, node)

	return exists, shutdown, metadata, errs
}
