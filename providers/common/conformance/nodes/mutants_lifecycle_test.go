package nodes

import (
	"context"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// cachedConfirm is a source whose Confirm returns what is stored.
type cachedConfirm struct {
	*source
	confirm func(ctx context.Context, ref instance.Ref) instance.Result
}

func (c *cachedConfirm) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	return c.confirm(ctx, ref)
}

// confirming builds a provider with another Confirm.
func confirming(confirm func(ctx context.Context, correct *source, ref instance.Ref) instance.Result) build {
	return build{source: func(s *source) instance.Source {
		return &cachedConfirm{source: s, confirm: func(ctx context.Context, ref instance.Ref) instance.Result {
			return confirm(ctx, s, ref)
		}}
	}}
}

// confirmationMutants have a Confirm that does not query the cloud for each Node.
func confirmationMutants() map[string]mutant {
	const later, deleted, own = "an instance that a list does not have yet makes no node gone",
		"an instance deleted right after it was found makes its node gone", "each node is gone by a call of its own"

	return map[string]mutant{
		"confirms from the list": {confirming(func(ctx context.Context, correct *source, ref instance.Ref) instance.Result {
			return correct.Lookup(ctx, ref)
		}), "gone", []string{later, own}},
		"confirms from a list read for a miss": {
			build{source: func(s *source) instance.Source { return &relisting{source: s} }}, "without a call of its own", []string{own},
		},
		"keeps what it confirmed": {
			build{source: func(s *source) instance.Source { return &keeping{source: s} }}, "it exists", []string{deleted},
		},
	}
}

// keeping is a source that keeps each instance that it confirmed.
type keeping struct {
	*source
	found sync.Map // Result by Ref
}

func (k *keeping) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	if kept, ok := k.found.Load(ref); ok {
		return kept.(instance.Result)
	}
	result := k.source.Confirm(ctx, ref)
	if _, err := result.Get(); err == nil {
		k.found.Store(ref, result)
	}

	return result
}

// relisting is a source that lists again for an instance that the list does not have,
// unless the list was read moments ago, and confirms with the same list.
type relisting struct {
	*source
	mu       sync.Mutex
	at       time.Time
	machines []*sim.Machine
}

func (r *relisting) Lookup(ctx context.Context, ref instance.Ref) instance.Result {
	return r.Confirm(ctx, ref)
}

func (r *relisting) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		i := slices.IndexFunc(r.machines, func(m *sim.Machine) bool { return r.match(m, ref) })
		if age := time.Since(r.at); age < time.Second && (i >= 0 || age < 100*time.Millisecond) {
			if i < 0 {
				return instance.Absent()
			}

			return instance.Found(r.machines[i])
		}
		machines, err := r.client.read(ctx, func(*sim.Machine) bool { return true })
		if err != nil {
			return instance.Failed(err)
		}
		r.machines, r.at = machines, time.Now()
	}
}

func lifecycleMutants() map[string]mutant {
	const stopped, gone = "a stopped instance exists and is shut down until it starts", "a deleted instance makes an old node gone"
	constant := func(shutdown bool) build {
		return replacing(func(n *nodesWith, _ cloudprovider.InstancesV2, _ *source) {
			n.shutdown = func(context.Context, *v1.Node) (bool, error) { return shutdown, nil }
		})
	}

	return map[string]mutant{
		"always shut down": {
			constant(true), "is true",
			[]string{"a running instance exists and is not shut down", stopped, "a deleted instance is not shut down"},
		},
		"never shut down": {
			constant(false), "it is",
			[]string{stopped, "a suspended instance exists and is shut down"},
		},
		"stopped is gone": {
			replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, _ *source) {
				n.exists = func(ctx context.Context, node *v1.Node) (bool, error) {
					shutdown, err := correct.InstanceShutdown(ctx, node)

					return !shutdown, err
				}
			}), "gone", []string{stopped},
		},
		"always exists": {
			replacing(func(n *nodesWith, _ cloudprovider.InstancesV2, _ *source) {
				n.exists = func(context.Context, *v1.Node) (bool, error) { return true, nil }
			}), "it exists",
			[]string{gone, "a successor of the same name is another instance"},
		},
		"never exists": {
			replacing(func(n *nodesWith, _ cloudprovider.InstancesV2, _ *source) {
				n.exists = func(context.Context, *v1.Node) (bool, error) { return false, nil }
			}), "InstanceExists",
			[]string{"a running instance exists and is not shut down", gone},
		},
		"gone while young": {
			build{options: func(o *instance.Options) { o.MinAge = 1 }},
			"the node is gone",
			[]string{"a deleted instance keeps a young node"},
		},
		"gone by name": {
			build{options: func(o *instance.Options) { o.DeleteByName = true }},
			"the node is gone",
			[]string{"a node without providerID is never gone"},
		},
	}
}
