package conformance

import (
	"context"
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// isForeign says that the node is of another cloud.
func isForeign(node *v1.Node) bool {
	return strings.Contains(node.Spec.ProviderID, "://") && !isMalformed(node) && !strings.HasPrefix(node.Spec.ProviderID, "sim://")
}

// isMalformed says that the node's providerID is of no cloud.
func isMalformed(node *v1.Node) bool {
	id := strings.TrimPrefix(node.Spec.ProviderID, "sim://")

	return strings.HasPrefix(id, "://") || !strings.Contains(id, "://") && !simID.MatchString(id)
}

// existsFor answers InstanceExists by itself for some nodes.
func existsFor(which func(*v1.Node) bool, exists bool, err error) simBuild {
	return answering(func(n *nodesWith, whole cloudprovider.InstancesV2, _ *simSource) {
		n.exists = func(ctx context.Context, node *v1.Node) (bool, error) {
			if which(node) {
				return exists, err
			}

			return whole.InstanceExists(ctx, node)
		}
	})
}

// metadataFor answers InstanceMetadata by itself for some nodes.
func metadataFor(which func(*v1.Node) bool, m *cloudprovider.InstanceMetadata) simBuild {
	return answering(func(n *nodesWith, whole cloudprovider.InstancesV2, _ *simSource) {
		n.metadata = func(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
			if which(node) {
				return m, nil
			}

			return whole.InstanceMetadata(ctx, node)
		}
	})
}

// byNameFor forgets the providerID of some nodes.
func byNameFor(which func(*v1.Node) bool) simBuild {
	return answering(func(n *nodesWith, whole cloudprovider.InstancesV2, _ *simSource) {
		nameless := func(node *v1.Node) *v1.Node {
			if which(node) {
				node = node.DeepCopy()
				node.Spec.ProviderID = ""
			}

			return node
		}
		n.shutdown = func(ctx context.Context, node *v1.Node) (bool, error) {
			return whole.InstanceShutdown(ctx, nameless(node))
		}
		n.metadata = func(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
			return whole.InstanceMetadata(ctx, nameless(node))
		}
	})
}

func ownershipFlaws() map[string]flaw {
	alone := []string{"a node of another cloud costs nothing and is left alone"}
	both := append([]string{"a node of another cloud is left alone in an outage"}, alone...)
	malformed := []string{"a malformed providerID is an error"}

	return map[string]flaw{
		"foreign is gone":            {existsFor(isForeign, false, nil), "is gone", both},
		"foreign is an error":        {existsFor(isForeign, true, errors.New("not mine")), "not mine", both},
		"foreign is found by name":   {byNameFor(isForeign), "InstanceMetadata of", both},
		"foreign is always nil":      {metadataFor(isForeign, nil), "initialized node", both},
		"foreign is always empty":    {metadataFor(isForeign, &cloudprovider.InstanceMetadata{}), "InstanceMetadata of", both},
		"foreign is described":       {metadataFor(isForeign, &cloudprovider.InstanceMetadata{Zone: "a"}), "InstanceMetadata of", both},
		"malformed is gone":          {existsFor(isMalformed, false, nil), "is no error", malformed},
		"malformed exists":           {existsFor(isMalformed, true, nil), "is no error", malformed},
		"malformed is found by name": {byNameFor(isMalformed), "is no error", malformed},
		"foreign costs a call": {
			answering(func(n *nodesWith, whole cloudprovider.InstancesV2, s *simSource) {
				n.exists = func(ctx context.Context, node *v1.Node) (bool, error) {
					s.Confirm(ctx, instance.Ref{ProviderID: node.Spec.ProviderID})

					return whole.InstanceExists(ctx, node)
				}
			}), "cost", alone,
		},
	}
}
