package tagging

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// virtual runs a test in virtual time, with the client of production against the
// token buckets of AWS. Each call takes 30 ms.
func virtual(t *testing.T, instances int, adjust func(*Options), test func(b *fixture, ids []string)) {
	t.Helper()
	region := startRegion(t, aws.Options{})
	ids := region.instances(instances)
	key, secret := region.cloud.AccessKey()
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	synctest.Test(t, func(t *testing.T) {
		base, err := client.Load(t.Context(), client.Options{Middleware: []func(*middleware.Stack) error{region.cloud.ServeDirectly}})
		if err != nil {
			t.Fatal(err)
		}
		clients, err := base.In(t.Context(), region.cloud.Region())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := clients.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		region.cloud.Interceptor().SetLatency(30 * time.Millisecond)
		b := &fixture{t: t, cloud: region.cloud, subnet: region.subnet}
		b.prepare(clients.EC2, adjust)
		test(b, ids)
	})
}

// serve has the API server return a Node for each instance, and accept labels. Its
// own storage is too slow for a thousand.
func (b *fixture) serve(ids []string) {
	list := &v1.NodeList{}
	for i, id := range ids {
		list.Items = append(list.Items, *kubetest.Node(fmt.Sprintf("n%d", i), kubetest.ProviderID("aws:///us-west-2a/"+id)))
	}
	b.kube.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, list, nil })
	b.kube.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &v1.Node{}, nil })
}

// addAll adds a Node for each instance.
func (b *fixture) addAll(ids []string) {
	for i, id := range ids {
		b.add(fmt.Sprintf("n%d", i), "aws:///us-west-2a/"+id, kubetest.CreatedAt(time.Now()))
	}
}

// tagged counts the Nodes that have the label.
func (b *fixture) tagged(ids []string) int {
	n := 0
	for i := range ids {
		if b.label(fmt.Sprintf("n%d", i)) != "" {
			n++
		}
	}

	return n
}

// modes are the ways to call EC2.
func modes() map[string]func(*Options) {
	return map[string]func(*Options){
		"one by one":  nil,
		"ten workers": func(o *Options) { o.ConcurrentNodeSyncs = 10 },
		"batching":    func(o *Options) { o.Batching, o.ConcurrentNodeSyncs = true, 50 },
	}
}

// TestRefusedTagsAreNotSearchedFor: a refusal of the tags, which is the same for all
// instances and names none, costs a few calls in all, then one at a time, and no
// instance its retries. Once EC2 accepts the tags, all instances get them.
func TestRefusedTagsAreNotSearchedFor(t *testing.T) {
	const nodes = 1000
	denied := "You are not authorized to perform this operation. Encoded authorization failure message: abc"
	refused := map[string]struct {
		fault simserver.Fault
		event string
	}{
		"denied":     {aws.Error(http.StatusForbidden, codeUnauthorized, denied), "UnauthorizedOperation: You are not authorized to perform this operation."},
		"tag policy": {aws.Error(http.StatusBadRequest, "TagPolicyViolation", "The value is not allowed"), "TagPolicyViolation: The value is not allowed"},
	}
	for mode, adjust := range modes() {
		for name, test := range refused {
			t.Run(mode+"/"+name, func(t *testing.T) {
				virtual(t, nodes, adjust, func(b *fixture, ids []string) {
					b.cloud.Interceptor().Inject("CreateTags", simserver.Always(), test.fault)
					b.serve(ids)
					b.start()
					time.Sleep(10 * time.Minute)
					// 14 times one instance in 10 minutes, after a search or two of 9 calls.
					if calls, most := b.cloud.Interceptor().Count("CreateTags"), 40; calls > most {
						t.Errorf("%d calls in 10 minutes for %d instances, want at most %d", calls, nodes, most)
					}
					want := []string{"Warning TagsRefused EC2 refused the tags of 3 instances in a row. One instance at a time is tried until EC2 accepts them: " + test.event}
					if diff := cmp.Diff(want, b.eventTexts()); diff != "" {
						t.Errorf("Events (-want +got):\n%s", diff)
					}
					if n := b.failures(errorsRefused, ""); n < 10 {
						t.Errorf("%d refusals of the tags are counted", n)
					}
					b.cloud.Interceptor().Clear()
					// The next attempt is a minute later at most. AWS accepts 10 calls a second.
					time.Sleep(longestProbe + nodes/10*time.Second)
					for _, id := range ids {
						if b.cloud.Tags(id)["team"] != "blue" || b.failures(errorsExhausted, id) != 0 {
							t.Errorf("%s is not tagged", id)
						}
					}
				})
			})
		}
	}
}

// TestNewNodeIsTaggedDespiteRefusals: where only instances that cannot have the tags
// are left, they cost few calls, and a Node that joins is tagged within a minute.
func TestNewNodeIsTaggedDespiteRefusals(t *testing.T) {
	const refused, joins = 8, 3
	for mode, adjust := range modes() {
		t.Run(mode, func(t *testing.T) {
			virtual(t, 20, adjust, func(b *fixture, ids []string) {
				for _, id := range ids[:refused] {
					b.cloud.SetTags(id, fullTags())
				}
				last := len(ids) - joins
				b.addAll(ids[:last])
				b.start()
				time.Sleep(time.Hour)
				if n := b.tagged(ids[:last]); n != last-refused {
					t.Errorf("%d of %d Nodes are tagged that can be", n, last-refused)
				}
				before := b.cloud.Interceptor().Count("CreateTags")
				for i, id := range ids[last:] {
					name := fmt.Sprintf("new-%d", i)
					b.add(name, "aws:///us-west-2a/"+id, kubetest.CreatedAt(time.Now()))
					time.Sleep(longestProbe + time.Second)
					if b.label(name) == "" {
						t.Errorf("%s is not tagged after a minute", name)
					}
				}
				calls := b.cloud.Interceptor().Count("CreateTags")
				t.Logf("%d calls for %d instances in an hour, %d for %d that joined", before, last, calls-before, joins)
				if before > 150 || calls-before > joins*20 {
					t.Errorf("%d calls in an hour, %d for %d that joined", before, calls-before, joins)
				}
			})
		})
	}
}

// TestWaitingForTags goes through the wait of all for one instance.
func TestWaitingForTags(t *testing.T) {
	t.Parallel()
	work := make([]item, 6)
	for i := range work {
		work[i] = item{node: fmt.Sprintf("n%d", i), action: tag}
	}
	limit := &smithy.GenericAPIError{Code: "TagLimitExceeded"}
	synctest.Test(t, func(t *testing.T) {
		queued := map[item]time.Duration{}
		r := newRefusals(func(i item, d time.Duration) { queued[i] = d })
		refuse := func(i int, want bool) {
			t.Helper()
			if waits, _ := r.refused(work[i], work[i].node, limit); waits != want {
				t.Errorf("refused(%d) = %t", i, waits)
			}
		}
		refuse(0, false)
		refuse(0, false) // the same instance again
		refuse(1, false)
		r.accepted(work[5])
		refuse(0, false)
		refuse(1, false)
		if r.holds(work[3]) {
			t.Error("two instances are no reason to wait")
		}
		refuse(2, true)
		if diff := cmp.Diff(map[item]time.Duration{work[2]: firstProbe}, queued, cmp.AllowUnexported(item{})); diff != "" {
			t.Errorf("the only one that waits is tried next (-want +got):\n%s", diff)
		}
		time.Sleep(firstProbe / 4)
		if !r.holds(work[3]) || !r.holds(work[2]) || queued[work[3]] != firstProbe*3/4 {
			t.Errorf("all wait, and one that was not refused is tried instead at the same time: %v", queued)
		}
		clear(queued)
		if !r.holds(work[3]) || queued[work[3]] != firstProbe*3/4 {
			t.Errorf("a change of its Node before that does not count: %v", queued)
		}
		time.Sleep(firstProbe * 3 / 4)
		clear(queued)
		if r.holds(work[3]) || queued[work[2]] != 2*firstProbe {
			t.Errorf("it is tried, and another one after twice the time: %v", queued)
		}
		refuse(3, true)
		clear(queued)
		r.forget(work[2]) // its Node is deleted
		if queued[work[3]] != 2*firstProbe {
			t.Errorf("another one is tried instead: %v", queued)
		}
		if released := r.accepted(work[4]); len(released) != 1 || released[0] != work[3] || r.holds(work[4]) {
			t.Errorf("released %v", released)
		}
	})
}
