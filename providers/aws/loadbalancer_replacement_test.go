package aws

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// AWS-TG-7: at the quota of targets, the nodes of a load balancer are replaced in one
// sync, and at no time is it without a target.
func TestReplacementAtTheQuota(t *testing.T) {
	t.Parallel()
	for name, sync := range map[string]func(b *balanced, svc *v1.Service) error{
		"ensure": func(b *balanced, svc *v1.Service) error { return b.sync(svc) },
		"update": func(b *balanced, svc *v1.Service) error { return b.update(svc) },
	} {
		for kind, options := range kinds() {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				b := balance(t)
				b.SetQuotas(sim.Quotas{ZoneTargets: 20, ClassicInstances: 20})
				b.nodes = nodesOf(b.seed.AddNodes(20)...)
				svc := kubetest.Service("default", "web", append(slices.Clone(options), kubetest.ServiceUID(webUID),
					kubetest.Port(v1.ProtocolTCP, 80), annotate(request.AnnotationCrossZone, "true"))...)
				if err := b.sync(svc); err != nil {
					t.Fatal(err)
				}
				fewest := 20
				watch := func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
					apply.ServeHTTP(w, r)
					fewest = min(fewest, len(b.registered(webName)))
				}
				for _, op := range []string{"elbv2.DeregisterTargets", "elb.DeregisterInstancesFromLoadBalancer"} {
					b.Interceptor().Inject(op, simserver.Always(), watch)
				}
				fresh := b.seed.AddNodes(20)
				b.nodes = nodesOf(fresh...)
				if err := sync(b, svc); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(slices.Sorted(slices.Values(fresh)), b.registered(webName)); diff != "" {
					t.Errorf("registered: -want +got\n%s", diff)
				}
				if fewest < 10 {
					t.Errorf("%d targets at one time", fewest)
				}
				b.quiet(change.TargetQuotaExceeded)
			})
		}
	}
}

// quiet fails the test if there were Events with a reason.
func (b *balanced) quiet(reason service.Reason) {
	b.t.Helper()
	for _, event := range b.drainEvents() {
		if strings.Contains(event, string(reason)) {
			b.t.Errorf("Event %s", event)
		}
	}
}

// AWS-TG-7: where no place is free for others even without half of the targets that
// leave, the other half stays.
func TestTargetsStayIfNoneCanReplaceThem(t *testing.T) {
	t.Parallel()
	b := balance(t)
	svc := kubetest.Service("default", "web", nlb(), kubetest.ServiceUID(webUID), kubetest.Port(v1.ProtocolTCP, 80))
	b.ensure(svc)
	b.Interceptor().Inject("elbv2.RegisterTargets", simserver.Always(), sim.Error(http.StatusBadRequest, "TooManyTargets", "too many targets"))
	b.nodes = nodesOf(b.seed.AddNodes(3)...)
	b.retried(b.sync(svc), "exceed a quota")
	if got := b.registered(webName); len(got) != 1 {
		t.Errorf("registered are %v", got)
	}
}
