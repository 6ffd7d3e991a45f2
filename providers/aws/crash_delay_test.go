package aws

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

// patient is how often a call is made again, as the service controller does after
// errors.
const patient = 60

// TestCrashInSlowCloud ends runs at every write in a cloud in which things take
// their time: new load balancers are not active yet, those that are gone hold
// their security groups, and what is new is not seen by everybody. The same ends
// have to be reached, after some more calls.
func TestCrashInSlowCloud(t *testing.T) {
	t.Parallel()
	var shared props
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
				sampler := newSampler(t)
				if sampler == nil {
					return
				}
				p := rehearse(t, &shared, all[what])
				type ending struct {
					k int
					f fault
				}
				var endings []ending
				for k, op := range p.calls {
					for _, f := range faults {
						if sim.Mutating(op) && f.applies {
							endings = append(endings, ending{k + 1, f})
						}
					}
				}
				for _, n := range sampler.of(len(endings)) {
					p.slowly(slow, endings[n].k, endings[n].f)
				}
			})
		}
	}
}

// slowly ends a run in a slow cloud, and goes on until all is as it should be.
func (p *play) slowly(slow func(*sim.Cloud), k int, f fault) {
	p.t.Helper()
	what := fmt.Sprintf("%s at call %d", f.name, k)
	p.load(p.start)
	slow(p.Cloud)
	ctx, kill := context.WithCancel(p.t.Context())
	rule := p.Gate().Break(front.Any, front.From(k), f.effect(kill))
	err := p.operate(ctx, p.fresh())
	rule.Remove()
	kill()
	if rule.Hits() > 0 && err == nil {
		p.t.Fatalf("%s: %d calls broke, and it is no error", what, rule.Hits())
	}
	left := p.save()
	if p.want != p.empty {
		p.persist(what, p.want, func(lb *loadBalancer) error {
			return p.do(p.t.Context(), lb, p.service, p.pick(p.behind))
		})
		p.load(left)
	}
	p.persist(what+", delete", p.empty, func(lb *loadBalancer) error {
		if _, exists, err := lb.GetLoadBalancer(p.t.Context(), flagged, p.service); err != nil || !exists {
			return err
		}
		return deleteDeed(p.t.Context(), lb, p.service, nil)
	})
}

// persist calls a process again and again until there is nothing left to do.
func (p *play) persist(what string, want state, call func(*loadBalancer) error) {
	p.t.Helper()
	lb := p.fresh()
	lb.Tuning.Wait.Limit = 5 * time.Millisecond // so that it has to come back
	var err error
	for range patient {
		if err = call(lb); err == nil && p.state().dump == want.dump {
			return
		}
		p.clock.Step(30 * time.Second)
	}
	p.t.Fatalf("%s: the last error is %v, the state -want +got:\n%s", what, err, cmp.Diff(want.dump, p.Dump()))
}
