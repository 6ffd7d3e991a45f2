package inventory

import (
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const (
	clusterID = awstest.ClusterID
	describe  = "DescribeInstances"
	// listed is how many instances are listed rather than described by ID, if
	// others were described just before.
	listed = 7
)

// fixture is a simulated region with a cluster, and the inventory of it.
type fixture struct {
	*Inventory

	t     *testing.T
	cloud *aws.Cloud
	seed  *aws.Seed
	clock *clocktesting.FakePassiveClock
}

func newFixture(t *testing.T, options aws.Options, change ...func(*Config)) *fixture {
	t.Helper()
	region := awstest.Start(t, options)
	b := &fixture{t: t, cloud: region.Cloud, seed: region.Cluster, clock: clocktesting.NewFakePassiveClock(time.Now())}
	config := Config{Cluster: cluster.ID{Name: clusterID}, VPC: b.seed.VPC, Clock: b.clock, Window: 100 * time.Millisecond, ListWait: time.Minute}
	for _, f := range change {
		f(&config)
	}
	b.Inventory = New(newClient(t, region.Cloud), config)

	return b
}

// newClient makes an SDK client that tries once.
func newClient(t *testing.T, cloud *aws.Cloud) *ec2.Client {
	t.Helper()
	config := cloud.Config()
	config.Retryer = func() awssdk.Retryer { return awssdk.NopRetryer{} }

	return ec2.NewFromConfig(config, func(o *ec2.Options) { o.APIOptions = append(o.APIOptions, cloud.ServeDirectly) })
}

// realTime has an inventory use the clock of a synctest bubble.
func realTime(c *Config) { c.Clock, c.ListWait = clock.RealClock{}, 0 }

// calls is how many calls f makes.
func (b *fixture) calls(f func()) int {
	before := b.cloud.Interceptor().Total()
	f()

	return b.cloud.Interceptor().Total() - before
}

// list makes the inventory list the cluster: a few instances are fetched by ID,
// and more right after them.
func (b *fixture) list(ids []string) {
	b.t.Helper()
	for _, some := range [][]string{ids[:1], ids} {
		if found, err := b.Get(b.t.Context(), some); err != nil || len(found) != len(some) {
			b.t.Fatalf("got %d instances of %d, %v", len(found), len(some), err)
		}
	}
	if b.Peek(time.Minute) == nil {
		b.t.Fatal("the cluster is not listed")
	}
}

// sleep advances the clock.
func (b *fixture) sleep(d time.Duration) { b.clock.SetTime(b.clock.Now().Add(d)) }

// forms are the parameters of the calls so far.
func (b *fixture) forms() []aws.Request { return b.cloud.Requests(describe) }

// workers do the work for all keys, several at a time.
func workers(n int, keys []string, work func(key string)) {
	next := make(chan string)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for key := range next {
				work(key)
			}
		})
	}
	for _, key := range keys {
		next <- key
	}
	close(next)
	wg.Wait()
}

// pass looks every ID up, as a loop over nodes does.
func (b *fixture) pass(n int, ids []string) {
	b.t.Helper()
	workers(n, ids, func(id string) {
		if found, err := b.Find(b.t.Context(), id); err != nil || found.ID != id {
			b.t.Errorf("find %s: %v, %v", id, found, err)
		}
	})
}
