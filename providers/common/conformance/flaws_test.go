package conformance

import (
	"context"
	"fmt"
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// flaw is a way in which a provider can be wrong.
type flaw struct {
	build simBuild
	// says is part of what a case says that catches it.
	says string
	// caught are the cases that must catch it.
	caught []string
}

// nodesWith answers some questions by itself; a nil function leaves the answer
// to the whole provider.
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

// answering builds a provider with other answers; whole is the right one.
func answering(change func(n *nodesWith, whole cloudprovider.InstancesV2, s *simSource)) simBuild {
	return simBuild{nodes: func(whole cloudprovider.InstancesV2, s *simSource) cloudprovider.InstancesV2 {
		n := &nodesWith{InstancesV2: whole}
		change(n, whole, s)

		return n
	}}
}

// sourcing builds a provider with a changed source.
func sourcing(change func(s *simSource)) simBuild {
	return simBuild{source: func(s *simSource) instance.Source {
		change(s)

		return s
	}}
}

// describing builds a provider that changes the metadata of every node.
func describing(change func(node *v1.Node, m *cloudprovider.InstanceMetadata)) simBuild {
	return answering(func(n *nodesWith, whole cloudprovider.InstancesV2, _ *simSource) {
		n.metadata = func(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
			m, err := whole.InstanceMetadata(ctx, node)
			if m != nil && m.ProviderID != "" {
				change(node, m)
			}

			return m, err
		}
	})
}

// failing are the cases about every failure, from the start or later.
func failing(when string, failures ...Failure) []string {
	if failures == nil {
		failures = []Failure{Unreachable, Hanging, Refusing, Throttling}
	}
	var names []string
	for _, f := range failures {
		for _, c := range outageCases() {
			if strings.Contains(c.name, fmt.Sprintf("%s %s ", f, when)) {
				names = append(names, c.name)
			}
		}
	}

	return names
}

// flaws are all of them, by name.
func flaws() map[string]flaw {
	all := map[string]flaw{}
	for _, group := range []map[string]flaw{objectFlaws(), identityFlaws(), metadataFlaws(), lifecycleFlaws(), ownershipFlaws(), outageFlaws(), costFlaws()} {
		maps.Copy(all, group)
	}

	return all
}
