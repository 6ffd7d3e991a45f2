package nodes

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

func identityMutants() map[string]mutant {
	const byID, own = "a node is initialized by its providerID", "metadata is the caller's own"
	byName := func(m *sim.Machine, ref instance.Ref) bool { return m.Ref.NodeName == ref.NodeName }

	return map[string]mutant{
		"finds by name only": {
			sourcing(func(s *source) { s.match = byName }), "not within",
			[]string{byID, "a node is initialized by its system UUID"},
		},
		"finds by ID only": {
			sourcing(func(s *source) {
				s.match = func(m *sim.Machine, ref instance.Ref) bool { return ref.ProviderID != "" && matches(m, ref) }
			}), "not within",
			[]string{
				"a node is initialized as kubelet registers it", "a node is initialized by its name",
				"a node is initialized by its system UUID in capitals",
			},
		},
		"finds by one byte order only": {
			sourcing(func(s *source) {
				s.match = func(m *sim.Machine, ref instance.Ref) bool {
					return matches(m, ref) && (ref.ProviderID != "" || strings.EqualFold(ref.SystemUUID, m.Ref.SystemUUID))
				}
			}), "not within", []string{"a node is initialized by its system UUID in mixed-endian order"},
		},
		"writes its own spelling": {
			describing(func(_ *v1.Node, m *cloudprovider.InstanceMetadata) {
				m.ProviderID = sim.Scheme + strings.TrimPrefix(m.ProviderID, sim.Scheme)
			}), "providerID is", []string{"a providerID is echoed as written"},
		},
		"chooses a duplicate": {
			sourcing(func(s *source) { s.pick = first }), "of two", []string{"two instances of one name are an error"},
		},
		"never lists again": {
			listsOnce(), "not within", []string{"an instance made later is found"},
		},
		"shares metadata": {shared(), "metadata are shared", []string{own}},
		"other error for missing": {
			replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, _ *source) {
				n.metadata = func(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
					m, err := correct.InstanceMetadata(ctx, node)
					if err != nil {
						err = errors.New(err.Error())
					}

					return m, err
				}
			}), "not within", []string{"a missing instance is InstanceNotFound"},
		},
	}
}

// metadataMutants are about the metadata of an instance that was found.
func metadataMutants() map[string]mutant {
	const byID = "a node is initialized by its providerID"

	return map[string]mutant{
		"invalid label": {
			describing(func(_ *v1.Node, m *cloudprovider.InstanceMetadata) { m.Zone = "no zone" }), "label value", []string{byID},
		},
		"invalid key": {
			describing(func(_ *v1.Node, m *cloudprovider.InstanceMetadata) { m.AdditionalLabels["no key"] = "x" }), "label key", []string{byID},
		},
		"address twice": {
			describing(func(_ *v1.Node, m *cloudprovider.InstanceMetadata) {
				m.NodeAddresses = append(m.NodeAddresses, m.NodeAddresses[0])
			}), "empty or twice", []string{byID},
		},
		"no address": {
			describing(func(_ *v1.Node, m *cloudprovider.InstanceMetadata) { m.NodeAddresses = nil }), "is missing in", []string{byID},
		},
		"writes into the Node": {
			describing(func(node *v1.Node, _ *cloudprovider.InstanceMetadata) { node.Labels["mine"] = "too" }), "changed the Node", []string{byID},
		},
		"nil metadata": {
			replacing(func(n *nodesWith, _ cloudprovider.InstancesV2, _ *source) {
				n.metadata = func(context.Context, *v1.Node) (*cloudprovider.InstanceMetadata, error) { return nil, nil }
			}), "nil", []string{byID, "a stopped instance exists and is shut down until it starts"},
		},
	}
}

// first takes the first of several machines.
func first(found []*sim.Machine) instance.Result {
	if len(found) == 0 {
		return instance.Absent()
	}

	return instance.Found(found[0])
}

// listOnce is a source that lists only once.
type listOnce struct {
	*source
	once     sync.Once
	machines []*sim.Machine
}

func listsOnce() build {
	return build{source: func(s *source) instance.Source { return &listOnce{source: s} }}
}

func (l *listOnce) Lookup(ctx context.Context, ref instance.Ref) instance.Result {
	l.once.Do(func() { l.machines, _ = l.list.Get(ctx) })
	for _, m := range l.machines {
		if l.match(m, ref) {
			return instance.Found(m)
		}
	}

	return instance.Absent()
}

func (l *listOnce) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	return l.Lookup(ctx, ref)
}

// shared returns the same metadata to all callers.
func shared() build {
	return replacing(func(n *nodesWith, correct cloudprovider.InstancesV2, _ *source) {
		var kept atomic.Pointer[cloudprovider.InstanceMetadata]
		n.metadata = func(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
			if m := kept.Load(); m != nil {
				return m, nil
			}
			m, err := correct.InstanceMetadata(ctx, node)
			kept.Store(m)

			return m, err
		}
	})
}
