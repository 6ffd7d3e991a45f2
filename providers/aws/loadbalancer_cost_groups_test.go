package aws

import (
	"fmt"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// addForeignClassic has others create classic load balancers in the account.
func (b *balanced) addForeignClassic(count int) {
	b.t.Helper()
	api := elb.NewFromConfig(b.Config(), func(o *elb.Options) { o.APIOptions = append(o.APIOptions, b.ServeDirectly) })
	for i := range count {
		if _, err := api.CreateLoadBalancer(b.t.Context(), &elb.CreateLoadBalancerInput{
			LoadBalancerName: awssdk.String(fmt.Sprintf("foreign-%d", i)),
			Subnets:          []string{b.seed.Public[b.seed.Zones[0]]},
			Listeners: []elbtypes.Listener{{
				Protocol: awssdk.String("TCP"), LoadBalancerPort: 80, InstancePort: awssdk.Int32(80),
			}},
		}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// listPages returns how many pages of all classic load balancers f reads.
func (b *balanced) listPages(f func()) (pages int) {
	before := len(b.Requests("elb.DescribeLoadBalancers"))
	f()
	for _, read := range b.Requests("elb.DescribeLoadBalancers")[before:] {
		if read.Form.Get("LoadBalancerNames.member.1") == "" {
			pages++
		}
	}

	return pages
}

// Classic load balancers that share a security group of users are looked for in one
// list of all that there are in the account, whatever the number of Services. Rules
// of groups that have no user any more are removed all the same.
func TestCostOfSharedSecurityGroups(t *testing.T) {
	t.Parallel()
	const many, perPage = 20, 50
	// One list, and another one if the test takes longer than its age.
	foreign := foreignBalancers()
	most := 2 * ((foreign+many)/perPage + 1)
	b := balance(t)
	b.SetQuotas(sim.Quotas{ClassicLoadBalancers: foreign + many}) // AWS raises it on request
	b.addForeignClassic(foreign)
	one, two := b.group("one", nil), b.group("two", nil)
	before := b.Leaks()
	services := twoPorts(0, many, annotate(request.AnnotationSecurityGroups, one))
	b.ensureAll(services)
	b.lb = b.controller()
	if pages := b.listPages(func() { b.ensureAll(services) }); pages > 0 {
		t.Errorf("unchanged: %d pages", pages)
	}
	for _, svc := range services {
		svc.Annotations[string(request.AnnotationSecurityGroups)] = two
	}
	if pages := b.listPages(func() { b.ensureAll(services) }); pages > most {
		t.Errorf("another group: %d pages, want at most %d", pages, most)
	}
	if rules := strings.Join(b.rules(b.seed.NodeGroup), "\n"); strings.Contains(rules, one) || !strings.Contains(rules, two) {
		t.Errorf("the rules are\n%s", rules)
	}
	b.lb = b.controller()
	if pages := b.listPages(func() { parallel(serviceWorkers, services, b.remove) }); pages > most {
		t.Errorf("deletion: %d pages, want at most %d", pages, most)
	}
	b.same(before)
}
