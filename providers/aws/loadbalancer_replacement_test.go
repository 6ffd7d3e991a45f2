package aws

import (
	"fmt"
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
// leave, all stay, however often it is tried, and so does a single one.
func TestTargetsStayIfNoneCanReplaceThem(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		for _, targets := range []int{1, 2, 5} {
			t.Run(fmt.Sprintf("%s %d", kind, targets), func(t *testing.T) {
				t.Parallel()
				b := balance(t)
				b.nodes = nodesOf(b.ids[:1]...)
				b.nodes = append(b.nodes, nodesOf(b.seed.AddNodes(targets-1)...)...)
				svc := kubetest.Service("default", "web", append(slices.Clone(options), kubetest.ServiceUID(webUID), kubetest.Port(v1.ProtocolTCP, 80))...)
				b.ensure(svc)
				before := b.registered(webName)
				fresh := b.seed.AddNodes(3)
				b.nodes = nodesOf(fresh...)
				for op, code := range map[string]string{"elbv2.RegisterTargets": "TooManyTargets", "elb.RegisterInstancesWithLoadBalancer": "InvalidConfigurationRequest"} {
					b.Interceptor().Inject(op, simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
						if slices.ContainsFunc(fresh, func(id string) bool { return strings.Contains(fmt.Sprint(r.Form), id) }) {
							sim.Error(http.StatusBadRequest, code, "too many")(w, r, apply)
						} else {
							apply.ServeHTTP(w, r)
						}
					})
				}
				for round := range 3 {
					b.retried(b.sync(svc), "exceed a quota")
					if diff := cmp.Diff(before, b.registered(webName)); diff != "" {
						t.Errorf("registered after sync %d: -want +got\n%s", round+1, diff)
					}
				}
			})
		}
	}
}
