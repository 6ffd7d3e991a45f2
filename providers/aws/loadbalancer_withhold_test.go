package aws

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// AWS-LB-21: while EC2 does not return the instance of a Node, no rule is removed. After
// ten minutes, only the rules of groups without any known node stay: they may be
// those of the missing one.
func TestInstanceMissingForLong(t *testing.T) {
	t.Parallel()
	inSlowRegion(t, func(b *balanced) {
		pool := b.group("pool", map[string]string{sim.ClusterTag(demo): "owned"})
		joined := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{pool}}})
		b.nodes = append(b.nodes, nodesOf(joined)...)
		svc := web(nlb(), from("10.0.0.0/8", "192.0.2.0/24"))
		b.ensure(svc)
		b.Remove(joined)
		time.Sleep(time.Minute) // what is cached goes out of date
		svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		all, inPool := len(b.rules(b.seed.NodeGroup)), b.rules(pool)
		for begun := time.Now(); time.Since(begun) < longMissing; time.Sleep(3 * time.Minute) {
			b.retried(b.sync(svc), joined)
			if got := b.rules(b.seed.NodeGroup); len(got) != all {
				b.t.Fatalf("rules are removed after %s: %v", time.Since(begun), got)
			}
		}
		b.retried(b.sync(svc), joined)
		// Two rules for clients and one for path MTU discovery.
		if got := b.rules(b.seed.NodeGroup); len(got) != all-3 {
			b.t.Errorf("rules of a group with known nodes: %v", got)
		}
		if diff := cmp.Diff(inPool, b.rules(pool)); diff != "" {
			b.t.Errorf("rules of the group without a known node: -before +after\n%s", diff)
		}
		b.nodes = b.nodes[:3]
		if err := b.sync(svc); err != nil || len(b.rules(pool)) > 0 {
			b.t.Errorf("after the Node is deleted: %v, %v", err, b.rules(pool))
		}
	})
}

// AWS-LB-19, AWS-LB-21: an instance that EC2 does not return for ten minutes, such as one of
// another account, is waited for no longer, unless something is withheld because of it;
// another one is waited for as long from then on.
func TestInstanceIsNotAwaitedForever(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			inSlowRegion(t, func(b *balanced) {
				gone := b.seed.AddNodes(2)
				for _, id := range gone {
					b.Remove(id)
				}
				svc := web(options...)
				awaited := func(what string, ids ...string) {
					for begun := time.Now(); time.Since(begun) < longMissing; time.Sleep(3 * time.Minute) {
						err := b.sync(svc)
						b.retried(err, ids...)
						if what == "another one" && strings.Contains(err.Error(), gone[0]) {
							b.t.Errorf("%s: %v", what, err)
						}
					}
					if err := errors.Join(b.sync(svc), b.update(svc)); err != nil {
						b.t.Errorf("%s: after %s: %v", what, longMissing, err)
					}
				}
				b.nodes = append(b.nodes, nodesOf(gone[0])...)
				awaited("the first one", gone[0])
				b.nodes = append(b.nodes, nodesOf(gone[1])...)
				awaited("another one", gone[1])
			})
		})
	}
}

// AWS-LB-21: the former security group of a classic load balancer is deleted although
// an instance is missing for long, unless a group without any known node names it.
func TestSecurityGroupIsReplacedWhileAnInstanceIsMissing(t *testing.T) {
	t.Parallel()
	for name, separate := range map[string]bool{"the group of other nodes": false, "a group of its own": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inSlowRegion(t, func(b *balanced) {
				group := b.seed.NodeGroup
				if separate {
					group = b.group("pool", map[string]string{sim.ClusterTag(demo): "owned"})
				}
				joined := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{group}}})
				b.nodes = append(b.nodes, nodesOf(joined)...)
				svc := web()
				b.ensure(svc)
				b.Remove(joined)
				time.Sleep(time.Minute) // what is cached goes out of date
				annotate(request.AnnotationSecurityGroups, b.group("byo", nil))(svc)
				for i := range 6 {
					if err, complete := b.sync(svc), i > 3 && !separate; (err == nil) != complete {
						b.t.Fatalf("sync %d: want complete %t, got %v", i, complete, err)
					}
					time.Sleep(3 * time.Minute)
				}
				if ids := b.SecurityGroupIDs("k8s-elb-" + webName); (len(ids) > 0) != separate {
					b.t.Errorf("groups %v", ids)
				}
			})
		})
	}
}
