package tagging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const (
	subnetCIDR = "10.0.0.0/16"
	patience   = 5 * time.Minute
)

// fixture is a controller between a simulated region and an API server's cache.
type fixture struct {
	t          *testing.T
	cloud      *aws.Cloud
	subnet     string
	kube       *kubetest.Clientset
	controller *Controller
	registry   kmetrics.KubeRegistry
	events     *record.FakeRecorder
	factory    informers.SharedInformerFactory
}

// newFixture returns a fixture with the controller at work.
func newFixture(t *testing.T, adjust func(*Options)) *fixture {
	t.Helper()
	b := prepareFixture(t, adjust)
	b.start()

	return b
}

// prepareFixture returns a fixture whose controller does not work before start.
func prepareFixture(t *testing.T, adjust func(*Options)) *fixture {
	t.Helper()
	// The client of these tests does not wait for tokens, and some make hundreds of
	// calls at once.
	b := startRegion(t, aws.Options{DisableThrottling: true})
	key, secret := b.cloud.AccessKey()
	b.prepare(ec2.New(ec2.Options{
		BaseEndpoint: awssdk.String(b.cloud.URL()), Region: b.cloud.Region(), Retryer: awssdk.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, ""),
	}), adjust)

	return b
}

// startRegion returns a fixture with nothing but a region.
func startRegion(t *testing.T, options aws.Options) *fixture {
	t.Helper()
	cloud, err := aws.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	vpc := cloud.AddVPC(aws.VPCSpec{CIDR: subnetCIDR})

	return &fixture{t: t, cloud: cloud, subnet: cloud.AddSubnet(aws.SubnetSpec{VPC: vpc, CIDR: subnetCIDR, Zone: "us-west-2a"})}
}

// prepare adds an API server's cache and a controller, which does not work before
// start.
func (b *fixture) prepare(api client.Tags, adjust func(*Options)) {
	b.t.Helper()
	options := Options{Tags: map[string]string{"team": "blue", "cost": "42"}, Resources: []string{instances}, ConcurrentNodeSyncs: 1}
	if adjust != nil {
		adjust(&options)
	}
	b.kube, b.registry, b.events = kubetest.NewClientset(), kmetrics.NewKubeRegistry(), record.NewFakeRecorder(100)
	b.factory = informers.NewSharedInformerFactory(b.kube, 0)
	counted := NewMetrics()
	counted.Register(b.registry.MustRegister)
	var err error
	b.controller, err = New(Config{
		Options: options, EC2: api,
		Client: b.kube, Nodes: b.factory.Core().V1().Nodes(), InstanceID: instanceID, Metrics: counted, Events: b.events,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *fixture) start() {
	b.factory.Start(b.t.Context().Done())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.controller.Run(b.t.Context())
	}()
	b.t.Cleanup(func() { <-done })
}

func instanceID(providerID string) (string, bool) {
	id := providerID[strings.LastIndexByte(providerID, '/')+1:]

	return id, strings.HasPrefix(id, "i-")
}

// eventTexts returns the Events that were recorded since the last call.
func (b *fixture) eventTexts() []string {
	var texts []string
	for len(b.events.Events) > 0 {
		texts = append(texts, <-b.events.Events)
	}

	return texts
}

// node adds an instance and its Node.
func (b *fixture) node(name string, options ...kubetest.NodeOption) string {
	b.t.Helper()
	id := b.cloud.AddInstance(aws.InstanceSpec{InterfaceSpec: aws.InterfaceSpec{Subnet: b.subnet}})
	b.add(name, "aws:///us-west-2a/"+id, options...)

	return id
}

func (b *fixture) add(name, providerID string, options ...kubetest.NodeOption) {
	b.t.Helper()
	node := kubetest.Node(name, append(options, kubetest.ProviderID(providerID))...)
	if _, err := b.kube.CoreV1().Nodes().Create(b.t.Context(), node, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *fixture) remove(name string) {
	b.t.Helper()
	if err := b.kube.CoreV1().Nodes().Delete(b.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// await waits for a condition, and fails with its name after a timeout.
func (b *fixture) await(what string, condition func() bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			b.t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}

func (b *fixture) label(name string) string {
	node, err := b.kube.CoreV1().Nodes().Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}

	return node.Labels[Label]
}

// idle checks that there is nothing to do, now or later.
func (b *fixture) idle(calls string, n int) func() bool {
	return func() bool { return b.cloud.Interceptor().Count(calls) == n && b.controller.queue.Len() == 0 }
}

// TestTagsAndLabels is AWS-TAG-2: CreateTags, then the label with the
// fingerprint; a deleted Node takes the tags with it.
func TestTagsAndLabels(t *testing.T) {
	t.Parallel()
	for name, batching := range map[string]bool{"one by one": false, "batching": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, func(o *Options) { o.Batching = batching })
			id := b.node("n1")
			// md5sum of cost=42,team=blue
			const want = "3938873af5a99b4f128377e37561f597"
			b.await("the Node has its label", func() bool { return b.label("n1") != "" })
			if got := b.label("n1"); got != want {
				t.Errorf("label = %q, want %q", got, want)
			}
			if diff := cmp.Diff(map[string]string{"team": "blue", "cost": "42"}, b.cloud.Tags(id)); diff != "" {
				t.Errorf("tags: -want, +got:\n%s", diff)
			}
			b.remove("n1")
			b.await("the tags are gone", func() bool { return len(b.cloud.Tags(id)) == 0 })
			if diff := cmp.Diff(map[string]int{"CreateTags": 1, "DeleteTags": 1}, b.cloud.Writes()); diff != "" {
				t.Errorf("writes: -want, +got:\n%s", diff)
			}
		})
	}
}

// TestOnlyOnce is AWS-TAG-2: a Node whose label is that of the same tags costs
// nothing; one with another label is tagged again.
func TestOnlyOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	b.node("done", kubetest.Labeled(Label, b.controller.expected))
	b.node("stale", kubetest.Labeled(Label, "0123"))
	b.await("the stale Node is tagged", func() bool { return b.label("stale") == b.controller.expected })
	if got := b.cloud.Interceptor().Count("CreateTags"); got != 1 {
		t.Errorf("%d calls of CreateTags, want 1", got)
	}
}

// TestNothingToTag is AWS-TAG-3: Fargate Nodes and Nodes without a provider ID
// cost nothing, and a Node that gets its provider ID later is tagged then.
func TestNothingToTag(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	b.add("fargate", "aws:///us-west-2a/fargate-ip-10-0-0-9")
	b.add("early", "")
	id := b.cloud.AddInstance(aws.InstanceSpec{InterfaceSpec: aws.InterfaceSpec{Subnet: b.subnet}})
	node := kubetest.Node("early", kubetest.ProviderID("aws:///us-west-2a/"+id))
	if _, err := b.kube.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await("the Node is tagged", func() bool { return b.label("early") != "" })
	if got := b.label("fargate"); got != "" {
		t.Errorf("the Fargate Node has the label %q", got)
	}
	if got := b.cloud.Interceptor().Count("CreateTags"); got != 1 {
		t.Errorf("%d calls of CreateTags, want 1", got)
	}
}

// TestTombstone is AWS-TAG-3: a Node whose deletion was missed by the watch
// arrives as a tombstone.
func TestTombstone(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	id := b.cloud.AddInstance(aws.InstanceSpec{Tags: map[string]string{"team": "blue"}, InterfaceSpec: aws.InterfaceSpec{Subnet: b.subnet}})
	b.controller.deleted(cache.DeletedFinalStateUnknown{Key: "n1", Obj: kubetest.Node("n1", kubetest.ProviderID("aws:///us-west-2a/"+id))})
	b.controller.deleted(cache.DeletedFinalStateUnknown{Key: "n2", Obj: &v1.Pod{}})
	b.await("the tags are gone", func() bool { return len(b.cloud.Tags(id)) == 0 })
}

// TestUntagOnlyWithoutNode: an instance that has a Node, again or under another
// name, keeps its tags: the Node's label records that they are there.
func TestUntagOnlyWithoutNode(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	id := b.node("now")
	b.await("the Node is tagged", func() bool { return b.label("now") != "" })
	for _, name := range []string{"now", "before"} {
		for _, prefix := range []string{"aws:///us-west-2a/", "aws:////", ""} { // the spellings of one provider ID
			if err := b.controller.do(t.Context(), item{name, prefix + id, untag}); err != nil {
				t.Error(err)
			}
		}
	}
	if diff := cmp.Diff(map[string]string{"team": "blue", "cost": "42"}, b.cloud.Tags(id)); diff != "" {
		t.Errorf("tags: -want, +got:\n%s", diff)
	}
}

// TestOneOperationAtATime: an instance is not tagged while its tags are being
// taken away, and the work ends with its context.
func TestOneOperationAtATime(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	id := b.cloud.AddInstance(aws.InstanceSpec{InterfaceSpec: aws.InterfaceSpec{Subnet: b.subnet}})
	held := simserver.NewHold()
	b.cloud.Interceptor().Inject("DeleteTags", simserver.Always(), held.Before)
	work := item{"n1", "aws:///us-west-2a/" + id, untag}
	untagged := make(chan error, 1)
	go func() { untagged <- b.controller.do(t.Context(), work) }()
	b.await("the tags are being taken away", func() bool { return b.cloud.Interceptor().Count("DeleteTags") == 1 })
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	work.action = tag
	if err := b.controller.do(soon, work); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("tagged meanwhile: %v", err)
	}
	held.Release()
	if err := <-untagged; err != nil {
		t.Error(err)
	}
	if err := b.controller.do(t.Context(), work); err != nil {
		t.Error(err)
	}
}

// TestLabelIsForOneNode: a Node that has taken another's name does not get its
// label. The API server compares the UID.
func TestLabelIsForOneNode(t *testing.T) {
	t.Parallel()
	b := prepareFixture(t, nil)
	patches := make(chan []byte, 1)
	b.kube.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if patch, ok := a.(clienttesting.PatchAction); ok {
			patches <- patch.GetPatch()
		}

		return false, nil, nil
	})
	b.start() // which reads the reactors
	b.node("n1", func(n *v1.Node) { n.UID = "uid-1" })
	var patch v1.Node
	select {
	case body := <-patches:
		if err := json.Unmarshal(body, &patch); err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("there is no patch")
	}
	if patch.UID != "uid-1" || patch.Labels[Label] != b.controller.expected {
		t.Errorf("patch %+v", patch.ObjectMeta)
	}
}

// TestUnknownInstances is AWS-TAG-4: an instance that EC2 does not find is waited
// for while its Node is young, and left alone afterwards; an unusable ID at once.
func TestUnknownInstances(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		id     string
		age    time.Duration
		calls  int
		errors int
	}{
		"young":     {"it may appear: every attempt counts", "i-0000000000000dead", time.Minute, 1 + maxRequeues, 1 + maxRequeues},
		"old":       {"it will not appear any more", "i-0000000000000dead", 10 * time.Minute, 1, 0},
		"malformed": {"no age makes it an instance", "i-zzz", time.Minute, 1, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, nil)
			b.add("n1", "aws:///us-west-2a/"+test.id, kubetest.CreatedAt(time.Now().Add(-test.age)))
			b.await(test.reason, b.idle("CreateTags", test.calls))
			if b.label("n1") != "" {
				t.Errorf("%s: the Node has a label", test.reason)
			}
			b.await("failures are counted", func() bool { return b.failures(errorsTotal, test.id) == test.errors })
			b.remove("n1")
			b.await("nothing to untag is no failure", b.idle("DeleteTags", 1))
		})
	}
}

// TestFailures is AWS-TAG-5: at most 9 requeues, then a failure of its own kind,
// and a change of the Node begins anew.
func TestFailures(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	b.cloud.Interceptor().Inject("CreateTags", simserver.Always(), aws.Denied())
	id := b.node("n1")
	b.await("the work is given up", func() bool { return b.failures(errorsExhausted, id) == 1 })
	if got := b.cloud.Interceptor().Count("CreateTags"); got != 1+maxRequeues {
		t.Errorf("%d attempts, want %d", got, 1+maxRequeues)
	}
	b.cloud.Interceptor().Clear()
	node := kubetest.Node("n1", kubetest.ProviderID("aws:///us-west-2a/"+id), kubetest.Labeled("changed", "yes"))
	if _, err := b.kube.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.await("the Node is tagged", func() bool { return b.label("n1") != "" })
}

// failures is the value of the counter for an instance.
func (b *fixture) failures(kind, instance string) int {
	value, err := testutil.GetCounterMetricValue(b.controller.config.Metrics.errors.WithLabelValues(kind, instance))
	if err != nil {
		b.t.Fatal(err)
	}

	return int(value)
}

// TestInstanceLabelIsBounded is AWS-TAG-5.
func TestInstanceLabelIsBounded(t *testing.T) {
	t.Parallel()
	m := NewMetrics()
	labels := map[string]struct{}{}
	for i := range 3 * maxInstances {
		labels[m.instances.Of(fmt.Sprintf("i-%d", i))] = struct{}{}
	}
	if len(labels) != maxInstances+1 {
		t.Errorf("%d values of instance_id for %d instances", len(labels), 3*maxInstances)
	}
}

// TestDelayIsMeasuredOnce is AWS-TAG-7: the delay is that of first tags alone.
func TestDelayIsMeasuredOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	b.node("new", kubetest.CreatedAt(time.Now().Add(-time.Minute)))
	b.node("again", kubetest.Labeled(Label, "0123"))
	b.await("both are tagged", func() bool {
		return b.label("new") == b.controller.expected && b.label("again") == b.controller.expected
	})
	b.await("the delay is counted", func() bool {
		families, err := b.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() == taggingDelay.Name {
				return family.GetMetric()[0].GetHistogram().GetSampleCount() == 1
			}
		}

		return false
	})
}
