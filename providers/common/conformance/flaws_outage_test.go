package conformance

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

func outageFlaws() map[string]flaw {
	return map[string]flaw{
		"error is gone": {
			answering(func(n *nodesWith, whole cloudprovider.InstancesV2, _ *simSource) {
				n.exists = func(ctx context.Context, node *v1.Node) (bool, error) {
					exists, err := whole.InstanceExists(ctx, node)
					if err != nil && node.Spec.ProviderID != "" {
						return false, nil
					}

					return exists, err
				}
			}), "InstanceExists of node", failing("from the start"),
		},
		"miss is gone": {
			simBuild{source: func(s *simSource) instance.Source { return &hasty{simSource: s} }},
			"is gone",
			failing("later", Unreachable, Refusing, Throttling), // a hanging one is given up before it fails
		},
		"error is shut down": {
			answering(func(n *nodesWith, whole cloudprovider.InstancesV2, _ *simSource) {
				n.shutdown = func(ctx context.Context, node *v1.Node) (bool, error) {
					shutdown, err := whole.InstanceShutdown(ctx, node)

					return shutdown || err != nil && !strings.Contains(err.Error(), "not found"), nil
				}
			}), "shut down", failing("later", Unreachable, Refusing, Throttling),
		},
		"error is existing": {
			answering(func(n *nodesWith, whole cloudprovider.InstancesV2, _ *simSource) {
				n.exists = func(ctx context.Context, node *v1.Node) (bool, error) {
					exists, err := whole.InstanceExists(ctx, node)

					return exists || err != nil, nil
				}
			}), "is no error", failing("from the start"),
		},
		"never tries again": {
			simBuild{client: func(c *simClient) { c.obstinate = true }},
			"never works again",
			append(failing("from the start"), failing("later")...),
		},
		"queues nothing again": {
			simBuild{cloud: func(p *simProvider) cloudprovider.Interface {
				p.requeue = func(func(nodeName string)) {}

				return p
			}},
			"not queued",
			append(failing("are queued again"), "new nodes cost a constant number of calls after an outage"),
		},
		"never logs in again": {
			simBuild{client: func(c *simClient) { c.stubborn = true }}, "no session", failing("later", Refusing),
		},
		"deaf to its caller": {
			answering(func(n *nodesWith, whole cloudprovider.InstancesV2, _ *simSource) {
				n.exists = func(ctx context.Context, node *v1.Node) (bool, error) {
					return whole.InstanceExists(context.WithoutCancel(ctx), node)
				}
			}), "goes on after", []string{"a caller that gives up is let go"},
		},
		"deaf to its own deadline": {
			simBuild{options: func(o *instance.Options) { o.Timeout = time.Hour }}, "did not return", failing("later", Hanging),
		},
	}
}

// hasty is a source that takes an outage for an answer.
type hasty struct{ *simSource }

func (h *hasty) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	answer := h.simSource.Confirm(ctx, ref)
	if _, err := answer.Get(); err != nil {
		return instance.Absent()
	}

	return answer
}

func costFlaws() map[string]flaw {
	perNode := simBuild{source: func(s *simSource) instance.Source { return &single{simSource: s} }}

	return map[string]flaw{
		"one call per node": {perNode, "the budget is", []string{
			"initializing many nodes costs a constant number of calls",
			"a steady pass over many nodes costs a constant number of calls",
			"a lifecycle pass over many nodes costs a constant number of calls",
		}},
		// The calls exceed the budget, or take too long.
		"one call per node after an outage": {perNode, " nodes ", []string{
			"new nodes cost a constant number of calls after an outage",
		}},
		"mixes up callers": {mixed(), "want", []string{
			"answers under load are those of the node that was asked for",
			"initializing many nodes costs a constant number of calls",
		}},
	}
}

// single is a source that asks for every node by itself.
type single struct{ *simSource }

func (s *single) Lookup(ctx context.Context, refs []instance.Ref) []instance.Result {
	return []instance.Result{s.Confirm(ctx, refs[0])}
}

// mixed gives a caller that comes while another is served the other's answer.
func mixed() simBuild {
	return answering(func(n *nodesWith, whole cloudprovider.InstancesV2, _ *simSource) {
		var served atomic.Pointer[v1.Node]
		n.metadata = func(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
			if !served.CompareAndSwap(nil, node) {
				if other := served.Load(); other != nil {
					node = other
				}
			} else {
				defer served.Store(nil)
			}

			return whole.InstanceMetadata(ctx, node)
		}
	})
}
