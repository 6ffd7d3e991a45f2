package aws

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

// pairs is how many times two runs in a row are disturbed in each scenario.
const pairs = 8

// twice ends the operation early, and then the run of the next process, too, at
// any calls and in any ways. The second run may be that of a deletion.
func (p *play) twice(name string) int {
	p.t.Helper()
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(name)) // never fails
	random := rand.New(rand.NewPCG(seed.Sum64(), pairs))
	any := func() fault { return faults[random.IntN(len(faults))] }
	for range pairs {
		k, first := 1+random.IntN(len(p.calls)), any()
		end, err := p.end(k, first)
		if err == nil {
			p.t.Fatalf("%s at call %d: nothing broke", first.name, k)
		}
		second, do := any(), p.do
		deleting := random.IntN(2) == 0
		if deleting {
			do = deleteDeed
		}
		ctx, kill := context.WithCancel(p.t.Context())
		n := 1 + random.IntN(len(p.calls))
		rule := p.Gate().Break(front.Any, front.From(n), second.effect(kill))
		err = do(ctx, p.fresh(), p.service, p.pick(p.behind))
		rule.Remove()
		kill()
		if broken := rule.Hits() > 0; broken != (err != nil) {
			p.t.Fatalf("%s, then %s at call %d: %d calls broke, the error is %v", end, second.name, n, rule.Hits(), err)
		}
		p.goOn(fmt.Sprintf("%s, then %s at call %d", end, second.name, n), deleting)
	}
	return pairs
}
