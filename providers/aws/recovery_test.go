package aws

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go/middleware"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// hang sends no response to a request until its client gives up.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// TestRecoveryFromHangingCloud: Nodes wait for an EC2 that takes requests and
// never responds, whatever names their instances. A round of lookups begins
// every five seconds, as for Nodes that wait to be initialized. Once EC2
// responds, a lookup works within 15 seconds, at whichever moment of the calls
// before that is.
func TestRecoveryFromHangingCloud(t *testing.T) {
	t.Parallel()
	const mostWait = 15 * time.Second
	r := newRegion(t, sim.Options{})
	id := r.seed.AddNode(sim.InstanceSpec{})
	r.seed.AddNode(sim.InstanceSpec{PrivateDNSName: "node-1.example"})
	pod := r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2a"]})
	refs := map[string]instance.Ref{
		"instance": {ProviderID: "aws:///us-west-2a/" + id},
		"name":     {NodeName: "node-1.example"},
		"Fargate":  {ProviderID: fargateID(pod)},
	}
	longest := map[string]time.Duration{}
	synctest.Test(t, func(t *testing.T) {
		for outage := time.Second; outage < 50*time.Second; outage += 700 * time.Millisecond {
			for name, waited := range r.in(t).waitThrough(outage, refs) {
				longest[name] = max(longest[name], waited)
				if waited > mostWait {
					t.Errorf("after an outage of %s: %s is found after %s", outage, name, waited)
				}
			}
		}
	})
	t.Logf("the longest waits: %v", longest)
}

// TestTopologyAtTheNextAttempt: a Node that waits is attempted every five
// seconds. The failure of one attempt is not the result of the next one.
func TestTopologyAtTheNextAttempt(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	id := r.seed.AddNode(sim.InstanceSpec{Type: mustHave, NetworkNodes: []string{"a"}})
	synctest.Test(t, func(t *testing.T) {
		s := r.in(t).directSource()
		r.Interceptor().Inject("DescribeInstanceTopology", simserver.Nth(1), func(w http.ResponseWriter, q *http.Request, apply http.Handler) {
			time.Sleep(time.Second)
			sim.Error(http.StatusBadRequest, "InvalidParameterValue", "No.")(w, q, apply)
		})
		begun := time.Now()
		if _, err := s.topology.find(t.Context(), topologyKey{id, mustHave}); err == nil {
			t.Error("the first attempt found the topology")
		}
		time.Sleep(time.Until(begun.Add(5 * time.Second)))
		if nodes, err := s.topology.find(t.Context(), topologyKey{id, mustHave}); err != nil || len(nodes) != 1 {
			t.Errorf("the next attempt: %v, %v", nodes, err)
		}
	})
}

// waitThrough makes lookups through an outage, and returns how long after it each
// worked.
func (r *region) waitThrough(outage time.Duration, refs map[string]instance.Ref) map[string]time.Duration {
	r.t.Helper()
	s := r.directSource()
	r.Interceptor().Inject(simserver.Any, simserver.Always(), hang)
	end := time.Now().Add(outage)
	time.AfterFunc(outage, r.Interceptor().Clear)
	ctx, stop := context.WithTimeout(r.t.Context(), outage+time.Minute)
	defer stop()

	var mu sync.Mutex
	waited := map[string]time.Duration{}
	lookup := func(name string) {
		ctx, cancel := context.WithTimeout(ctx, instance.DefaultTimeout)
		defer cancel()
		_, err := s.Lookup(ctx, []instance.Ref{refs[name]})[0].Get()
		mu.Lock()
		defer mu.Unlock()
		if _, before := waited[name]; err != nil || before {
			return
		}
		if waited[name] = time.Since(end); len(waited) == len(refs) {
			stop()
		}
	}
	var rounds sync.WaitGroup
	defer rounds.Wait()
	for ctx.Err() == nil {
		for name := range refs {
			rounds.Go(func() { lookup(name) })
		}
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
	}
	rounds.Wait()
	if len(waited) != len(refs) {
		r.t.Errorf("after an outage of %s only these are found: %v", outage, waited)
	}

	return waited
}

// directSource returns a source without any cache that calls the region
// without connections.
func (r *region) directSource() *source {
	r.t.Helper()
	base, err := client.Load(r.t.Context(), client.Options{Middleware: []func(*middleware.Stack) error{r.ServeDirectly}})
	if err != nil {
		r.t.Fatal(err)
	}
	clients, err := base.In(r.t.Context(), r.Region())
	if err != nil {
		r.t.Fatal(err)
	}
	known := inventory.New(clients.EC2, inventory.Config{Cluster: cluster.ID{Name: demo}, VPC: r.seed.VPC})

	return newSource(sourceConfig{Region: r.Region(), VPC: r.seed.VPC}, clients.EC2, known, vpc.NewZones(clients.EC2))
}
