package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// step is how often the suite looks whether something has happened, and rounds
// how often it looks that something does not happen.
const (
	step   = 20 * time.Millisecond
	rounds = 5
)

var errNoAnswer = errors.New("no answer in time")

// fixture is what one case works with: a fresh test cloud, and the provider once it
// is connected.
type fixture struct {
	t        testing.TB
	suite    Suite
	cloud    Cloud
	provider cloudprovider.Interface
	nodes    cloudprovider.InstancesV2
	machines int
	services int
}

// newFixture makes the test cloud of one case.
func newFixture(t testing.TB, suite Suite) *fixture {
	t.Helper()

	return &fixture{t: t, suite: suite, cloud: suite.NewCloud(t)}
}

// connect starts the provider.
func (b *fixture) connect() {
	b.t.Helper()
	b.provider = b.cloud.Connect(b.t)
	nodes, ok := b.provider.InstancesV2()
	if !ok || nodes == nil {
		b.t.Fatal("the provider does not offer InstancesV2")
	}
	b.nodes = nodes
}

// breakCloud makes the cloud fail, until the end of the case at the latest, so
// that the provider can be ended in peace.
func (b *fixture) breakCloud(failure Failure) {
	b.t.Helper()
	b.cloud.Break(b.t, failure)
	b.t.Cleanup(func() { b.cloud.Heal(b.t) })
}

// machine is an instance of the test cloud with what the suite made it of.
type machine struct {
	instance.Ref
	ips []string
}

// create makes one more instance, with a name and an address of its own.
func (b *fixture) create() machine {
	b.t.Helper()
	b.machines++

	return b.createNamed(fmt.Sprintf("machine-%d", b.machines))
}

// createNamed makes an instance with this name and an address of its own.
func (b *fixture) createNamed(name string) machine {
	b.t.Helper()

	return b.createOf(Machine{Name: name})
}

// createOf makes an instance with an IPv4 address of its own.
func (b *fixture) createOf(m Machine) machine {
	b.t.Helper()
	b.machines++
	m.IPs = []string{fmt.Sprintf("10.9.%d.%d", b.machines/200, b.machines%200+10)}
	ref := b.cloud.Create(b.t, m)
	if ref.ProviderID == "" || ref.SystemUUID == "" || ref.NodeName == "" {
		b.t.Fatalf("the test cloud made an instance without identity: %+v", ref)
	}

	return machine{Ref: ref, ips: append(m.IPs, m.IPv6...)}
}

// answerBound is when an answer that must come has not come, even on a machine
// that has much else to do.
func (b *fixture) answerBound() time.Duration { return 2*b.suite.Timeout + 10*time.Second }

// cancelBound is how long a call may go on after its caller gave up: less than
// it may take by itself, so that the two are told apart.
func (b *fixture) cancelBound() time.Duration { return b.suite.Timeout / 2 }

// bounded waits for the answer to one call. However the cloud is, an answer must
// come.
func bounded[T any](b *fixture, what string, call func(context.Context) (T, error)) (T, error) {
	b.t.Helper()
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call(b.t.Context())
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(b.answerBound()):
		b.t.Errorf("%s did not return, though one call may take %s", what, b.suite.Timeout)
		var none T

		return none, errNoAnswer
	}
}

// answer waits for one question to be answered. The Node must be as it was.
func answer[T any](b *fixture, what string, node *v1.Node, question func(context.Context, *v1.Node) (T, error)) (T, error) {
	b.t.Helper()
	before := node.DeepCopy()
	value, err := bounded(b, what+" of node "+node.Name, func(ctx context.Context) (T, error) { return question(ctx, node) })
	if errors.Is(err, errNoAnswer) {
		return value, err // the call has the Node still
	}
	if !equality.Semantic.DeepEqual(before, node) { // a diff is slow
		b.t.Errorf("%s changed the Node (-before +after):\n%s", what, cmp.Diff(before, node))
	}

	return value, err
}

// exists asks whether the node's instance exists.
func (b *fixture) exists(node *v1.Node) (bool, error) {
	b.t.Helper()

	return answer(b, "InstanceExists", node, b.nodes.InstanceExists)
}

// shutdown asks whether the node's instance is shut down.
func (b *fixture) shutdown(node *v1.Node) (bool, error) {
	b.t.Helper()

	return answer(b, "InstanceShutdown", node, b.nodes.InstanceShutdown)
}

// metadata asks for the node's metadata. Nil for an initialized node would end
// the process, so it is never right.
func (b *fixture) metadata(node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	b.t.Helper()
	m, err := answer(b, "InstanceMetadata", node, b.nodes.InstanceMetadata)
	if m == nil && err == nil && instance.Initialized(node) {
		b.t.Errorf("InstanceMetadata of the initialized node %s is nil without an error", node.Name)
	}

	return m, err
}

// replies are the answers to the three questions for one node.
type replies struct {
	exists, shutdown                    bool
	metadata                            *cloudprovider.InstanceMetadata
	existsErr, shutdownErr, metadataErr error
}

// gone says that the framework would delete the node.
func (r replies) gone() bool { return !r.exists && r.existsErr == nil }

// errs are the three errors by the name of the question.
func (r replies) errs() map[string]error {
	return map[string]error{
		"InstanceExists": r.existsErr, "InstanceShutdown": r.shutdownErr, "InstanceMetadata": r.metadataErr,
	}
}

// ask asks all questions for all nodes at once, only metadata after existence:
// of the two, the first may keep the cloud from being asked again, and the
// existence is what nodes are deleted by.
func (b *fixture) ask(nodes ...*v1.Node) []replies {
	b.t.Helper()
	all := make([]replies, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		r := &all[i]
		wg.Go(func() {
			r.exists, r.existsErr = b.exists(node)
			r.metadata, r.metadataErr = b.metadata(node)
		})
		wg.Go(func() { r.shutdown, r.shutdownErr = b.shutdown(node) })
	}
	wg.Wait()

	return all
}

// eventually waits until happened no longer gives an error.
func (b *fixture) eventually(what string, happened func() error) {
	b.t.Helper()
	deadline := time.Now().Add(b.suite.Patience)
	for {
		err := happened()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: not within %s: %v", what, b.suite.Patience, err)
		}
		time.Sleep(step)
	}
}

// always looks several times that something stays true; check reports itself.
func (b *fixture) always(check func()) {
	b.t.Helper()
	for range rounds {
		check()
		time.Sleep(step)
	}
}
