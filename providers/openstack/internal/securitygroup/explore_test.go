package securitygroup

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestInterrupted fails each call of a new group, of a change of everything and of a
// deletion, in every way. The next process reaches the same end: one group or none, and no
// port of a Node ever lacks the group that it had.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t testing.TB) explore.Run{"create": creation, "change": modification, "delete": deletion} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			explorer := &explore.Explorer{
				Begin:  func(t testing.TB, _ int) explore.Run { return begin(t) },
				Faults: explore.Faults(),
			}
			for _, kind := range explore.Injections() {
				explorer.Sweep(t, kind, explore.Spread{})
			}
			explorer.InjectPairs(t, rand.New(rand.NewPCG(1, 2)), 8)
		})
	}
}

// often are stale reads after each third write.
func often() openstack.StaleReads { return openstack.StaleReads{Every: 3, Reads: 1} }

// creation makes a group for two Nodes.
func creation(t testing.TB) explore.Run {
	f := newFixture(t, 2, openstack.Options{StaleReads: new(often())})

	return f.run(t, f.sync, "node-001 node-002", webRules)
}

// modification changes Nodes and rules. One Node stays all the time.
func modification(t testing.TB) explore.Run {
	f := newFixture(t, 3, openstack.Options{StaleReads: new(often())})
	f.mustSync(t)
	f.join()
	f.leave("node-002")
	f.nodePorts[1].NodePort, f.healthCheck = 31443, 32000
	run := f.run(t, f.sync, "node-001 node-003 node-004", "tcp 30080 from 10.0.0.0/16, tcp 31443 from 10.0.0.0/16, tcp 32000 from 10.0.0.0/16")
	group, stays := f.group(t), f.ports["node-001"]
	recovers := run.Next[0].Recover
	run.Next[0].Recover = func() {
		f.SetStaleReads(openstack.StaleReads{}) // it is the cloud that is checked
		if p, _ := f.Port(stays); !slices.Contains(p.Groups, group) {
			t.Errorf("the port of a Node that stays has the groups %v", p.Groups)
		}
		if rules := f.rulesOf(t, group); !strings.Contains(rules, "tcp 30080 from 10.0.0.0/16") {
			t.Errorf("a rule that stays is missing: %s", rules)
		}
		f.SetStaleReads(often())
		recovers()
	}

	return run
}

// run runs an operation, and the same in the next process.
func (f *fixture) run(t testing.TB, operate operation, nodes, rules string) explore.Run {
	t.Helper()
	process := f.open(t)

	return explore.Run{
		Cloud:   f,
		Operate: func(ctx context.Context) error { return operate(ctx, process).err },
		Next: []explore.Process{{
			Operate: func(ctx context.Context) error { return operate(ctx, f.process(t)).err }, //nolint:contextcheck // clients end with the test
			Recover: func() {
				f.recover(t, operate)
				f.SetStaleReads(openstack.StaleReads{}) // the next sync is minutes later
				f.recover(t, operate)
				if nodes == "" {
					check(t, "leaks", []string(nil), f.Leaks())

					return
				}
				check(t, "nodes", nodes, f.withGroup(t))
				check(t, "rules", rules, f.rules(t))
			},
		}},
	}
}

// operation is a sync or a deletion.
type operation = func(ctx context.Context, process *client.Client) result

// recover runs an operation in a new process until it succeeds.
func (f *fixture) recover(t testing.TB, operate operation) {
	t.Helper()
	process := f.process(t)
	var err error
	for range 5 {
		if err = operate(bounded(t), process).err; err == nil {
			return
		}
	}
	t.Error(err)
}

// deletion deletes a group of two Nodes.
func deletion(t testing.TB) explore.Run {
	f := newFixture(t, 2, openstack.Options{StaleReads: new(often())})
	f.mustSync(t)

	return f.run(t, f.remove, "", "")
}
