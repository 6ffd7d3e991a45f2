package aws

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// maxRetries is how often a call is retried, as the service controller does after
// errors.
const maxRetries = 60

// TestCrashInSlowCloud injects faults at every write in a region with delays: new
// load balancers are not active yet, deleted ones still hold their security groups,
// and new resources are not visible everywhere. The same ends have to be reached,
// after some more calls.
func TestCrashInSlowCloud(t *testing.T) {
	t.Parallel()
	shared := newTemplates(t)
	all := scenarios()
	for name, slow := range map[string]func(*sim.Cloud){
		"provisioning": func(c *sim.Cloud) { c.SetProvisioningDelay(time.Hour) },
		"deletion":     func(c *sim.Cloud) { c.SetDeletionDelay(10 * time.Minute) },
		"unseen":       func(c *sim.Cloud) { c.SetConsistency(sim.Consistency{Reads: 3}) },
		"unknown":      func(c *sim.Cloud) { c.SetConsistency(sim.Consistency{Reads: 2, Writes: true}) },
	} {
		for _, what := range []string{
			"classic created: create", "classic created: groups to brought", "classic created: delete",
			"network managed: create", "network managed: groups to brought", "network managed: health check", "network managed: delete",
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				sample, random := crashSample(t)
				if random == nil {
					return
				}
				c, explorer := newCrash(t, shared, all[what])
				var injections []explore.Injection
				for call := range explorer.Baseline(t).Calls {
					for _, fault := range explore.Faults() {
						if c.writes(call+1) && fault.Applied() {
							injections = append(injections, explore.Injection{First: call + 1, Fault: fault})
						}
					}
				}
				for _, n := range sample.of(random, len(injections)) {
					c.slowly(slow, injections[n])
				}
			})
		}
	}
}

// slowly interrupts a run in a slow region, and continues until all is as it should
// be.
func (c *crash) slowly(slow func(*sim.Cloud), i explore.Injection) {
	c.t.Helper()
	c.load(c.start)
	slow(c.Cloud)
	ctx, kill := context.WithCancel(c.t.Context())
	i.Kill = kill
	hits := c.InjectFault(c.t, i)
	err := c.operate(ctx, c.fresh())
	c.ClearFaults(c.t)
	kill()
	if hits() > 0 && err == nil {
		c.t.Fatalf("%s: %d calls failed, and it is no error", i, hits())
	}
	left := c.save()
	if c.want != c.empty {
		c.persist(i.String(), c.want, func(lb *loadBalancer) error {
			return c.do(c.t.Context(), lb, c.service, c.pick(c.behind))
		})
		c.load(left)
	}
	c.persist(i.String()+", delete", c.empty, func(lb *loadBalancer) error {
		if _, exists, err := lb.GetLoadBalancer(c.t.Context(), flagged, c.service); err != nil || !exists {
			return err
		}

		return deleteOperation(c.t.Context(), lb, c.service, nil)
	})
}

// persist makes calls of a process until there is nothing left to do.
func (c *crash) persist(what string, want regionState, call func(*loadBalancer) error) {
	c.t.Helper()
	lb := c.fresh()
	lb.Tuning.Wait.Limit = 5 * time.Millisecond // so that it has to return
	var err error
	for range maxRetries {
		if err = call(lb); err == nil && c.Dump() == want.dump {
			return
		}
		c.clock.Step(30 * time.Second)
	}
	c.t.Fatalf("%s: the last error is %v, the state -want +got:\n%s", what, err, cmp.Diff(want.dump, c.Dump()))
}
