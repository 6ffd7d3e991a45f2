package network

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// ofListeners returns the calls that create and delete listeners, in order.
func (b *fixture) ofListeners() []string {
	var calls []string
	for _, call := range b.Interceptor().History() {
		if call.Op == "elbv2.CreateListener" || call.Op == "elbv2.DeleteListener" {
			calls = append(calls, strings.TrimPrefix(call.Op, "elbv2."))
		}
	}

	return calls
}

func ports(list ...int32) *v1.Service {
	options := make([]kubetest.ServiceOption, 0, len(list))
	for _, port := range list {
		options = append(options, kubetest.Port(v1.ProtocolTCP, port))
	}

	return web(options...)
}

// AWS-NLB-10: whether there is room for new listeners is only known when AWS rejects one. In the
// next sync those that are not wanted go first, and no other.
func TestPortsChangeAtTheQuotaOfListeners(t *testing.T) {
	t.Parallel()
	create, remove := "CreateListener", "DeleteListener"
	for name, c := range map[string]struct {
		reason        string
		quota         int
		before, after *v1.Service
		// fails means that the first sync fails; calls are those of the last one.
		fails bool
		calls []string
	}{
		"room for all": {
			reason: "the new ones are added first", quota: 4, before: ports(81, 443), after: ports(8080, 8443),
			calls: []string{create, create, remove, remove},
		},
		"room for one": {
			reason: "one is there already", quota: 3, before: ports(81, 443), after: ports(8080, 8443), fails: true,
			calls: []string{remove, remove, create},
		},
		"no room": {
			reason: "the others go first", quota: 2, before: ports(81, 443), after: ports(8080, 8443), fails: true,
			calls: []string{remove, remove, create, create},
		},
		"no room for one": {
			reason: "the wanted one stays", quota: 2, before: ports(81, 443), after: ports(443, 8443), fails: true,
			calls: []string{remove, create},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			b.ensure(c.before)
			kept := b.listener(443).ARN
			b.SetQuotas(sim.Quotas{Listeners: c.quota})
			if c.fails {
				env, err := b.tryEnsure(c.after)
				if warnings := env.Warnings(); err == nil || len(warnings) == 0 || warnings[0].Reason != change.QuotaExceeded {
					t.Errorf("%s: error %v, warnings %v", c.reason, err, warnings)
				}
				if got := b.behind(443); len(got) != len(b.nodes) {
					t.Errorf("%s: the old port has the targets %v", c.reason, got)
				}
			}
			b.Interceptor().Reset()
			b.ensure(c.after)
			if diff := cmp.Diff(c.calls, b.ofListeners()); diff != "" {
				t.Errorf("%s: calls, -want +got:\n%s", c.reason, diff)
			}
			b.upToDate(c.after)
			if c.after.Spec.Ports[0].Port == 443 && b.listener(443).ARN != kept {
				t.Error("a wanted listener was created again")
			}
		})
	}
}

// A quota leaves out what exceeds it, with a warning that names it.
func TestQuotasLeaveOutWhatExceedsThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		quotas sim.Quotas
		code   string
		part   string
	}{
		"listeners":     {quotas: sim.Quotas{Listeners: 2}, code: "TooManyListeners", part: "listener 8443/TCP"},
		"target groups": {quotas: sim.Quotas{TargetGroups: 2}, code: "TooManyTargetGroups", part: "target group for node port 38443"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, sim.Options{})
			b.SetQuotas(c.quotas)
			svc := ports(81, 443, 8443)
			env, err := b.tryEnsure(svc)
			if err == nil || !strings.Contains(err.Error(), c.code) {
				t.Errorf("error is %v", err)
			}
			warnings := env.Warnings()
			if len(warnings) != 1 || warnings[0].Reason != change.QuotaExceeded ||
				!strings.Contains(warnings[0].Message, c.part) || !strings.Contains(warnings[0].Message, c.code) {
				t.Errorf("one warning names the quota and what exceeds it: %v", warnings)
			}
			for _, port := range []int32{81, 443} {
				if got := b.behind(port); len(got) != len(b.nodes) {
					t.Errorf("port %d has the targets %v", port, got)
				}
			}
			b.SetQuotas(sim.Quotas{})
			b.ensure(svc)
			b.upToDate(svc)
			if got := len(b.network().Listeners); got != 3 {
				t.Errorf("%d listeners after the quota was raised, want 3", got)
			}
		})
	}
}
