package nodes

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

// providerWith changes some getters.
type providerWith struct {
	*provider
	name      string
	instances cloudprovider.Instances
	noID      bool
	nodes     func() cloudprovider.InstancesV2
	close     func(context.Context) error
}

func (p *providerWith) ProviderName() string { return p.name }
func (p *providerWith) HasClusterID() bool   { return !p.noID }
func (p *providerWith) Instances() (cloudprovider.Instances, bool) {
	return p.instances, p.instances != nil
}
func (p *providerWith) InstancesV2() (cloudprovider.InstancesV2, bool) { return p.nodes(), true }
func (p *providerWith) Close(ctx context.Context) error                { return p.close(ctx) }

// object builds a provider with other getters.
func object(change func(*providerWith)) build {
	return build{provider: func(p *provider) cloudprovider.Interface {
		with := &providerWith{
			provider: p, name: sim.Provider, close: p.Close,
			nodes: func() cloudprovider.InstancesV2 { return p.Nodes },
		}
		change(with)

		return with
	}}
}

func objectMutants() map[string]mutant {
	const constant = "getters are constant and cost nothing"

	return map[string]mutant{
		"another name": {
			object(func(p *providerWith) { p.name = "Sim" }), "ProviderName", []string{"the provider returns its name"},
		},
		"no cluster ID": {
			object(func(p *providerWith) { p.noID = true }), "HasClusterID", []string{"a cluster ID is there"},
		},
		"old interface offered": {
			object(func(p *providerWith) { p.instances = struct{ cloudprovider.Instances }{} }),
			"Instances is offered",
			[]string{"only InstancesV2 is offered for nodes"},
		},
		"getter rebuilds": {
			object(func(p *providerWith) {
				p.nodes = func() cloudprovider.InstancesV2 { return &nodesWith{InstancesV2: p.Nodes} }
			}),
			"InstancesV2 changed",
			[]string{constant},
		},
		"getter calls": {
			object(func(p *providerWith) {
				p.nodes = func() cloudprovider.InstancesV2 {
					_ = p.client.cloud.Enter(context.Background())

					return p.Nodes
				}
			}),
			"getters cost",
			[]string{constant},
		},
		"session left": {
			object(func(p *providerWith) { p.close = func(context.Context) error { return nil } }),
			"sessions are open",
			[]string{"Close ends the sessions for good"},
		},
		"Close waits forever": {
			object(func(p *providerWith) {
				end := p.close
				p.close = func(ctx context.Context) error { return end(context.WithoutCancel(ctx)) }
			}),
			"did not return at its deadline",
			[]string{"Close of a hanging cloud returns"},
		},
	}
}
