package nodes

import (
	"context"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// mutant is a provider that is wrong in one way.
type mutant struct {
	build build
	// message is part of the failure of a case that catches it.
	message string
	// caughtBy are the cases that must catch it.
	caughtBy []string
}

// nodesWith replaces some methods; a nil function leaves the method to the correct
// provider.
type nodesWith struct {
	cloudprovider.InstancesV2
	exists   func(context.Context, *v1.Node) (bool, error)
	shutdown func(context.Context, *v1.Node) (bool, error)
	metadata func(context.Context, *v1.Node) (*cloudprovider.InstanceMetadata, error)
}

func (n *nodesWith) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	if n.exists != nil {
		return n.exists(ctx, node)
	}

	return n.InstancesV2.InstanceExists(ctx, node)
}

func (n *nodesWith) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	if n.shutdown != nil {
		return n.shutdown(ctx, node)
	}

	return n.InstancesV2.InstanceShutdown(ctx, node)
}

func (n *nodesWith) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	if n.metadata != nil {
		return n.metadata(ctx, node)
	}

	return n.InstancesV2.InstanceMetadata(ctx, node)
}

// replacing builds a provider with other methods than those of the correct one.
func replacing(change func(n *nodesWith, correct cloudprovider.InstancesV2, s *source)) build {
	return build{nodes: func(correct cloudprovider.InstancesV2, s *source) cloudprovider.InstancesV2 {
		n := &nodesWith{InstancesV2: correct}
		change(n, correct, s)

		return n
	}}
}

// sourcing builds a provider with a changed source.
func sourcing(change func(s *source)) build {
	return build{source: func(s *source) instance.Source {
		change(s)

		return s
	}}
}

// describing builds a provider that changes the metadata of every node.
func describing(change func(node *v1.Node, m *cloudprovider.InstanceMetadata)) build {
	return replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, _ *source) {
		n.metadata = func(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
			m, err := correct.InstanceMetadata(ctx, node)
			if m != nil && m.ProviderID != "" {
				change(node, m)
			}

			return m, err
		}
	})
}

// failing returns the cases about failures, from the start or later.
func failing(when string, failures ...conformance.Failure) []string {
	if failures == nil {
		failures = conformance.Failures()
	}
	var names []string
	for _, f := range failures {
		names = append(names, harness.Select(failureCases(), fmt.Sprintf("%s %s ", f, when))...)
	}

	return names
}

// allMutants returns all of them by name.
func allMutants() map[string]mutant {
	all := map[string]mutant{}
	for _, group := range []map[string]mutant{objectMutants(), identityMutants(), metadataMutants(), lifecycleMutants(), confirmationMutants(), ownershipMutants(), failureMutants(), costMutants()} {
		maps.Copy(all, group)
	}

	return all
}
