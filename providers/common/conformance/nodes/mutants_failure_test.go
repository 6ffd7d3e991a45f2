package nodes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

func failureMutants() map[string]mutant {
	return map[string]mutant{
		"error is gone": {
			replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, _ *source) {
				n.exists = func(ctx context.Context, node *v1.Node) (bool, error) {
					exists, err := correct.InstanceExists(ctx, node)
					if err != nil && node.Spec.ProviderID != "" {
						return false, nil
					}

					return exists, err
				}
			}), "InstanceExists of node", failing("from the start"),
		},
		"miss is gone": {
			build{source: func(s *source) instance.Source { return &prematureSource{source: s} }},
			"is gone",
			failing("later", notHanging()...), // a hanging one is given up before it fails
		},
		"error is shut down": {
			replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, _ *source) {
				n.shutdown = func(ctx context.Context, node *v1.Node) (bool, error) {
					shutdown, err := correct.InstanceShutdown(ctx, node)

					return shutdown || err != nil && !strings.Contains(err.Error(), "not found"), nil
				}
			}), "shut down", failing("later", notHanging()...),
		},
		"never tries again": {
			build{client: func(c *client) { c.fragile = true }},
			"never works again",
			append(failing("from the start"), failing("later")...),
		},
		"queues nothing again": {
			build{provider: func(p *provider) cloudprovider.Interface {
				p.requeue = func(func(nodeName string)) {}

				return p
			}},
			"not queued",
			append(failing("are queued again"), "new nodes cost a constant number of calls after an outage"),
		},
		"ignores cancellation": {
			replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, _ *source) {
				n.exists = func(ctx context.Context, node *v1.Node) (bool, error) {
					return correct.InstanceExists(context.WithoutCancel(ctx), node)
				}
			}), "goes on after it was canceled", []string{"a canceled call returns"},
		},
		"has no deadline": {
			build{options: func(o *instance.Options) { o.Timeout = time.Hour }}, "did not return", failing("later", conformance.Hanging),
		},
		"a page is an invalid call": {
			build{client: func(c *client) {
				c.page = func(_ int, err error) error { return apierr.Mark(apierr.ErrInvalid, errors.New(err.Error())) }
			}}, "means invalid", failing("later", conformance.ProxyNotFound, conformance.ProxyOK, conformance.ProxyBadGateway),
		},
	}
}

// notHanging returns the failures in which a call fails at once.
func notHanging() []conformance.Failure {
	return slices.DeleteFunc(conformance.Failures(), func(f conformance.Failure) bool { return f == conformance.Hanging })
}

// prematureSource is a source that takes a failure for a result.
type prematureSource struct{ *source }

func (h *prematureSource) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	result := h.source.Confirm(ctx, ref)
	if _, err := result.Get(); err != nil {
		return instance.Absent()
	}

	return result
}

func costMutants() map[string]mutant {
	perNode := build{source: func(s *source) instance.Source { return &singleSource{source: s} }}

	return map[string]mutant{
		"one call per node": {perNode, "the budget is", []string{
			"initializing many nodes costs a constant number of calls",
			"a steady pass over many nodes costs a constant number of calls",
			"a lifecycle pass over many nodes costs a constant number of calls",
		}},
		"mixes up callers": {mixed(), "want", []string{
			"results under load are those of the node in question",
			"initializing many nodes costs a constant number of calls",
		}},
	}
}

// singleSource looks up every node by itself.
type singleSource struct{ *source }

func (s *singleSource) Lookup(ctx context.Context, ref instance.Ref) instance.Result {
	return s.Confirm(ctx, ref)
}

// mixed returns to a caller that comes while another is served the other's result.
func mixed() build {
	return replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, _ *source) {
		var served atomic.Pointer[v1.Node]
		n.metadata = func(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
			if !served.CompareAndSwap(nil, node) {
				if other := served.Load(); other != nil {
					node = other
				}
			} else {
				defer served.Store(nil)
				time.Sleep(5 * time.Millisecond) // callers that have begun come now, on a busy machine as well
			}

			return correct.InstanceMetadata(ctx, node)
		}
	})
}
