package nodes

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

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
		"kept forever": {
			build{options: func(o *instance.Options) { o.KeepMissing = true }}, "it exists", []string{gone},
		},
		"kept with an error": {
			replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, _ *source) {
				n.exists = func(ctx context.Context, node *v1.Node) (bool, error) {
					exists, err := correct.InstanceExists(ctx, node)
					if _, missing := correct.InstanceMetadata(ctx, node); exists && errors.Is(missing, cloudprovider.InstanceNotFound) {
						return false, missing
					}

					return exists, err
				}
			}), "a node that is not gone is kept without an error",
			[]string{"a deleted instance keeps a young node", "a node without providerID is never gone"},
		},
		"name before ID": {
			sourcing(func(s *source) {
				s.match = func(m *sim.Machine, ref instance.Ref) bool { return m.Ref.NodeName == ref.NodeName || matches(m, ref) }
			}), "it exists", []string{"a successor of the same name is another instance"},
		},
	}
}
