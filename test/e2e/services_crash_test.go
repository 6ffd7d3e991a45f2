package e2e

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// crash is a moment at which a process ends without a word.
type crash struct {
	reason string
	kind   string
	// operation is under way then.
	operation string
	// applied means that the cloud has done it and there was no response.
	applied bool
	// deleting means that the Service is being deleted, not created.
	deleting bool
}

func crashes() []crash {
	return []crash{
		{reason: "a load balancer that is not recorded yet", kind: classic, operation: "elb.CreateLoadBalancer", applied: true},
		{reason: "a load balancer with the first of two target groups", kind: network, operation: "elbv2.CreateListener"},
		{reason: "no node lets the load balancer in yet", kind: network, operation: "AuthorizeSecurityGroupIngress"},
		{reason: "AWS-DELETE-1: the load balancer is gone, its group is not", kind: classic, operation: "DeleteSecurityGroup", deleting: true},
		{reason: "AWS-DELETE-1: the load balancer is gone, its target groups are not", kind: network, operation: "elbv2.DeleteLoadBalancer", applied: true, deleting: true},
	}
}

// FW-LB-4: a process is killed while a call is under way, and another one
// finishes what it has begun.
func TestKilledProcessIsReplaced(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	r := c.startRegion(t)
	nodes := r.add(3)
	config := writeConfig(t, awsConfig)
	m := c.run(t, config, "--leader-elect=false")
	c.joinAll(t, nodes)
	c.awaitInitialized(t, names(nodes)...)
	for _, crash := range crashes() {
		t.Log(crash.reason)
		name := "web"
		if crash.deleting {
			c.create(t, newService(name, crash.kind, 80, 443))
			c.awaitServed(t, r, nodes, name)
		}
		hold := simserver.NewHold()
		effect := hold.Before
		if crash.applied {
			effect = hold.After
		}
		before := r.Interceptor().Count(crash.operation)
		r.Interceptor().Inject(crash.operation, simserver.Always(), effect)
		if crash.deleting {
			c.remove(t, name)
		} else {
			c.create(t, newService(name, crash.kind, 80, 443))
		}
		if err := r.Interceptor().WaitFor(within(t), crash.operation, before+1); err != nil {
			t.Fatal(err)
		}
		if err := m.Kill(); err != nil {
			t.Fatal(err)
		}
		m.awaitExit(t, -1)
		r.Interceptor().Clear()

		m = c.run(t, config, "--leader-elect=false")
		if !crash.deleting {
			c.awaitServed(t, r, nodes, name)
			if slow, fast := r.LoadBalancers(); len(slow)+len(fast) != 1 {
				t.Errorf("%s: there are the load balancers %q and %q, want one", crash.reason, slow, fast)
			}
			c.remove(t, name)
		}
		c.awaitRemoved(t, name)
		r.wantNoLeaks(t)
	}
}
