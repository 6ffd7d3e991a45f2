package aws

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

// pairs is how many times two runs in a row are disturbed in each scenario.
const pairs = 8

// twice ends the operation early, and then the run of the next process, too, at
// any calls and in any ways. The second run may be that of a deletion.
func (p *play) twice(name string, s *sampler) int {
	p.t.Helper()
	random := s.random
	if random == nil {
		random = rand.New(rand.NewPCG(hashOf(name), pairs))
	}
	any := func() fault { return faults[random.IntN(len(faults))] }
	for range s.pairs {
		k, first := p.primed+1+random.IntN(len(p.calls)-p.primed), any()
		end, _ := p.end(k, first)
		second, do := any(), p.do
		deleting := random.IntN(2) == 0
		if deleting {
			do = deleteDeed
		}
		ctx, kill := context.WithCancel(p.t.Context())
		n := 1 + random.IntN(len(p.calls))
		rule := p.Gate().Break(front.Any, front.From(n), second.effect(kill))
		lb := p.fresh()
		p.hinder(true)
		err := p.again(func() error { return do(ctx, lb, p.service, p.pick(p.behind)) })
		rule.Remove()
		kill()
		if broken := rule.Hits() > 0; broken != (err != nil) && (p.refusal == nil || !errors.Is(err, p.refusal)) {
			p.t.Fatalf("%s, then %s at call %d: %d calls broke, the error is %v", end, second.name, n, rule.Hits(), err)
		}
		p.goOn(fmt.Sprintf("%s, then %s at call %d", end, second.name, n), deleting)
	}
	return s.pairs
}
