package nodes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// isForeign reports whether the node is of another cloud.
func isForeign(node *v1.Node) bool {
	return strings.Contains(node.Spec.ProviderID, "://") && !isMalformed(node) && !strings.HasPrefix(node.Spec.ProviderID, sim.Scheme)
}

// isMalformed reports whether the node's providerID is of no cloud.
func isMalformed(node *v1.Node) bool {
	id := strings.TrimPrefix(node.Spec.ProviderID, sim.Scheme)

	return strings.HasPrefix(id, "://") || !strings.Contains(id, "://") && !idPattern.MatchString(id)
}

// existsFor replaces InstanceExists for some nodes.
func existsFor(which func(*v1.Node) bool, exists bool, err error) build {
	return replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, _ *source) {
		n.exists = func(ctx context.Context, node *v1.Node) (bool, error) {
			if which(node) {
				return exists, err
			}

			return correct.InstanceExists(ctx, node)
		}
	})
}

// byNameFor ignores the providerID of some nodes.
func byNameFor(which func(*v1.Node) bool) build {
	return replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, _ *source) {
		nameless := func(node *v1.Node) *v1.Node {
			if which(node) {
				node = node.DeepCopy()
				node.Spec.ProviderID = ""
			}

			return node
		}
		n.shutdown = func(ctx context.Context, node *v1.Node) (bool, error) {
			return correct.InstanceShutdown(ctx, nameless(node))
		}
		n.metadata = func(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
			return correct.InstanceMetadata(ctx, nameless(node))
		}
	})
}

func ownershipMutants() map[string]mutant {
	alone := []string{"a node of another cloud costs nothing and is left alone"}
	both := append([]string{"a node of another cloud is left alone in an outage"}, alone...)
	malformed := []string{"a malformed providerID is an error"}
	elsewhere := []string{"an instance of another region, project or server is an error"}

	return map[string]mutant{
		"foreign is gone":            {existsFor(isForeign, false, nil), "is gone", both},
		"foreign is an error":        {existsFor(isForeign, true, errors.New("not mine")), "not mine", both},
		"foreign is found by name":   {byNameFor(isForeign), "InstanceMetadata of", both},
		"malformed is found by name": {byNameFor(isMalformed), "is no error", malformed},
		"ignores the region":         {sourcing(func(s *source) { s.place = func(string) error { return nil } }), "is no error", elsewhere},
		"another region is missing": {
			sourcing(func(s *source) {
				inRegion := s.place
				s.place = func(id string) error {
					if err := inRegion(id); err != nil {
						return fmt.Errorf("%w: %w", cloudprovider.InstanceNotFound, err)
					}

					return nil
				}
			}), "is no error: ", elsewhere,
		},
		"foreign costs a call": {
			replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, s *source) {
				n.exists = func(ctx context.Context, node *v1.Node) (bool, error) {
					s.Confirm(ctx, instance.Ref{ProviderID: node.Spec.ProviderID})

					return correct.InstanceExists(ctx, node)
				}
			}), "cost", alone,
		},
	}
}
