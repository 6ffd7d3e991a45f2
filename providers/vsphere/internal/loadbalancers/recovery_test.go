package loadbalancers_test

import (
	"net/http"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// operations are what happens to the load balancer of a Service, which exists for long but for
// the first one.
func operations() map[string]func(p *process, svc *v1.Service) error {
	return map[string]func(p *process, svc *v1.Service) error{
		"create": func(p *process, svc *v1.Service) error { return p.ensure(svc, workers(2)...) },
		"change": func(p *process, svc *v1.Service) error {
			svc.Spec.Ports[0].NodePort++
			svc.Spec.Ports[1].Port = 8443
			svc.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
			kubetest.LocalTraffic(32000)(svc)

			return p.ensure(svc, workers(3)...)
		},
		"update": func(p *process, svc *v1.Service) error {
			return p.retry(func() error { return p.UpdateLoadBalancer(p.ctx, testCluster, svc, workers(3)) })
		},
		"delete": func(p *process, svc *v1.Service) error { return p.remove(svc) },
	}
}

// before makes what there is before an operation.
func before(p *process, operation string, svc *v1.Service) {
	if operation != "create" {
		p.must(p.ensure(svc, workers(2)...))
		time.Sleep(whole)
	}
}

// responses are those of a manager that refuses a call, once.
func responses() map[string]simserver.Fault {
	return map[string]simserver.Fault{
		"429": nsxt.Fault(http.StatusTooManyRequests, 0), "500/607": nsxt.Fault(http.StatusInternalServerError, 607),
		"503": nsxt.Fault(http.StatusServiceUnavailable, 0), "412": nsxt.Fault(http.StatusPreconditionFailed, 0),
		"400/500087": nsxt.Fault(http.StatusBadRequest, 500087), "400/500030": nsxt.Fault(http.StatusBadRequest, 500030),
		"400/500045": nsxt.Fault(http.StatusBadRequest, 500045), "400/60508": nsxt.Fault(http.StatusBadRequest, 60508),
		"dropped": simserver.Drop(), "lost": simserver.DropResponse(),
	}
}

// lags are the times that the search is behind.
func lags() map[string]time.Duration {
	return map[string]time.Duration{"0s": -1, "5s": 5 * time.Second, "60s": time.Minute}
}

// TestEveryCallFails (VS-LB-5, VS-LB-6): whatever the manager responds to any one call of an operation, and however far the
// search is behind, the same is there in the end as without, and another process has nothing to write.
func TestEveryCallFails(t *testing.T) {
	t.Parallel()
	for name, operation := range operations() {
		for lagName, lag := range lags() {
			t.Run(name+"/"+lagName, func(t *testing.T) {
				t.Parallel()
				want, calls := baseline(t, lag, name, operation)
				for i, response := range sortedKeys(responses()) {
					for call := first(i); call <= calls; call += stride() {
						inProcess(t, nsxt.Spec{SearchLag: lag}, func(p *process) {
							svc := web()
							before(p, name, svc)
							p.Interceptor().Inject(simserver.Any, simserver.Nth(call), responses()[response])
							if err := operation(p, svc); err != nil {
								p.Errorf("%s to call %d: %v", response, call, err)
							}
							p.check(response+" to a call", want)
							isSettled(p, name, svc)
						})
						if t.Failed() {
							t.Fatalf("%s to call %d of %d", response, call, calls)
						}
					}
				}
			})
		}
	}
}

// TestEveryCallIsTheLast (VS-LB-5, VS-LB-6): a process can end at any call of an operation, before or after the manager has
// applied it. The next one has the same in the end; and if the Service is deleted meanwhile, nothing.
func TestEveryCallIsTheLast(t *testing.T) {
	t.Parallel()
	for name, operation := range operations() {
		for lagName, lag := range lags() {
			t.Run(name+"/"+lagName, func(t *testing.T) {
				t.Parallel()
				want, calls := baseline(t, lag, name, operation)
				for i, applied := range []bool{false, true} {
					for j, deleted := range []bool{false, true} {
						for call := first(2*i + j); call <= calls; call += stride() {
							inProcess(t, nsxt.Spec{SearchLag: lag}, func(p *process) {
								svc := web()
								before(p, name, svc)
								rule := p.Interceptor().Inject(simserver.Any, simserver.Nth(call), simserver.Kill(p.kill, applied))
								_ = operation(p, svc)
								rule.Remove()
								p.restart()
								if deleted {
									p.must(p.remove(svc))
									p.check("deleted after a process ended", []string{})

									return
								}
								edited := svc
								if name == "change" {
									edited = undone(svc)
								}
								p.must(operation(p, edited))
								p.check("after a process ended", want)
								isSettled(p, name, edited)
							})
							if t.Failed() {
								t.Fatalf("at call %d of %d, applied %t, deleted %t", call, calls, applied, deleted)
							}
						}
					}
				}
			})
		}
	}
}

// undone returns the Service as it was before the operation that changes it, which is then repeated.
func undone(svc *v1.Service) *v1.Service {
	original := web()
	original.Status = svc.Status

	return original
}

// stride is 1 for every call, and more for a sample of them, and first where the nth sample begins.
func stride() int { return profile.Of(23, 7, 1) }

func first(n int) int { return 1 + n%stride() }

// baseline returns what there is after an operation, and how many calls it makes.
func baseline(t *testing.T, lag time.Duration, name string, operation func(*process, *v1.Service) error) (want []string, calls int) {
	t.Helper()
	inProcess(t, nsxt.Spec{SearchLag: lag}, func(p *process) {
		svc := web()
		before(p, name, svc)
		calls = p.Calls()
		p.must(operation(p, svc))
		want, calls = p.Resources(), p.Calls()-calls
		p.Logf("%d calls", calls)
		isSettled(p, name, svc)
	})

	return want, calls
}

// isSettled checks that another process finds everything as it wants it.
func isSettled(p *process, operation string, svc *v1.Service) {
	p.Helper()
	time.Sleep(whole)
	p.restart()
	writes := p.Writes()
	if operation == "delete" {
		p.must(p.remove(svc))
	} else {
		nodes := workers(2)
		if operation != "create" {
			nodes = workers(3)
		}
		p.must(p.ensure(svc, nodes...))
	}
	if n := p.Writes() - writes; n != 0 {
		p.Errorf("the next process makes %d writes", n)
	}
}
