package classic

import (
	"context"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws/faulttest"
)

// TestEveryCrash interrupts a run at every one of its calls, before it is
// applied and after: the next run converges. A call whose response is lost once
// is retried.
func TestEveryCrash(t *testing.T) {
	t.Parallel()
	for name, i := range map[string]explore.Injection{
		"before":         {Fault: explore.Dropped},
		"after":          {Fault: explore.Lost},
		"after, retried": {Fault: explore.Lost, Once: true},
	} {
		for from, start := range map[string]*v1.Service{"nothing": nil, "plain": web()} {
			t.Run(name+" from "+from, func(t *testing.T) {
				t.Parallel()
				b := newFixture(t)
				svc := everything()
				explorer := explore.Explorer{Begin: func(t testing.TB, _ int) explore.Run {
					b.t = t
					b.ensure(nil)
					if start != nil {
						b.ensure(start)
					}

					return explore.Run{
						Cloud: faulttest.New(b.Cloud),
						Operate: func(ctx context.Context) error {
							_, err := b.try(ctx, svc)
							if err != nil && i.Once {
								t.Errorf("it is not retried: %v", err)
							}

							return err
						},
						Next: []explore.Process{{Recover: func() {
							b.ensure(svc)
							b.upToDateByKey(svc)
						}}},
					}
				}}
				if broken := explorer.Sweep(t, i, explore.Spread{}); broken < 8 {
					t.Errorf("a fault was injected at %d calls only", broken)
				}
				b.t = t
				b.ensure(nil)
				b.empty()
			})
		}
	}
}

// upToDateByKey is upToDate, without naming security groups by ID.
func (b *fixture) upToDateByKey(svc *v1.Service) {
	b.t.Helper()
	model := b.model(svc)
	for i, ref := range model.SecurityGroups {
		model.SecurityGroups = slices.Clone(model.SecurityGroups)
		model.SecurityGroups[i] = plan.Ref{ID: b.groupIDs[ref.Key]}
	}
	if steps := Diff(model, b.observe()); len(steps) > 0 {
		b.t.Errorf("there is more to do:\n%s", steps)
	}
}
