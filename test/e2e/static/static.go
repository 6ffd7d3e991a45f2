// Package static is a cloud provider without a cloud, for the end-to-end tests:
// its instances stand in its cloud-config. Linked into a binary beside a real
// provider, it proves that the cloud-config alone chooses between them.
//
//	[Global]
//	provider = static
//
//	[Node "node-1"]
//	address = 10.0.0.1
package static

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// ProviderName is the registered name, and the scheme of provider IDs.
const ProviderName = "static"

func init() {
	cloudprovider.RegisterCloudProvider(ProviderName, newCloud)
}

// Descriptor describes the provider.
func Descriptor() provider.Descriptor {
	return provider.Descriptor{
		Name:         ProviderName,
		Summary:      "instances listed in the cloud-config, for tests",
		Capabilities: []provider.Capability{{Name: "instances", Supported: true}},
		Decode: func(file *config.File) config.Problems {
			_, problems := decode(file)
			return problems
		},
		Explain: func(file *config.File) []config.Setting {
			settings, cfg := config.NewSettings(), &fileConfig{}
			file.Decode(config.Schema{}, settings, cfg)
			return file.Explain(config.Schema{}, nil, settings, cfg)
		},
	}
}

type fileConfig struct {
	Node map[string]*struct {
		Address string `gcfg:"address"`
	}
}

func decode(file *config.File) (*fileConfig, config.Problems) {
	cfg := &fileConfig{}
	if file == nil {
		return cfg, nil
	}
	settings := config.NewSettings()
	problems := file.Decode(config.Schema{}, settings, cfg)
	problems = append(problems, settings.Validate(file)...)
	for name, node := range cfg.Node {
		if _, err := netip.ParseAddr(node.Address); err != nil {
			key := config.Name{Section: "Node", Sub: name, Key: "address"}
			problems.Errorf(file.At(config.Schema{}, key), "%s: %q is not an IP address", key, node.Address)
		}
	}
	return cfg, problems
}

func newCloud(r io.Reader) (cloudprovider.Interface, error) {
	var file *config.File
	if r != nil {
		var err error
		if file, err = config.ReadFrom(r); err != nil {
			return nil, err
		}
	}
	cfg, problems := decode(file)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return &cloud{instances: instance.New(source{cfg}, instance.Options{Provider: ProviderName})}, nil
}

type cloud struct {
	instances *instance.V2
}

var _ cloudprovider.Interface = (*cloud)(nil)

func (c *cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool)                  { return nil, false }

func (c *cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

func (c *cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

func (c *cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

func (c *cloud) Routes() (cloudprovider.Routes, bool) { return nil, false }

func (c *cloud) ProviderName() string { return ProviderName }
func (c *cloud) HasClusterID() bool   { return true }

// machine is a node of the cloud-config.
type machine struct {
	name, address string
}

func (m machine) ProviderID() string    { return ProviderName + "://" + m.name }
func (m machine) State() instance.State { return instance.Running }

type source struct {
	cfg *fileConfig
}

func (s source) Accepts(id string) error {
	if !strings.HasPrefix(id, ProviderName+"://") {
		return fmt.Errorf("providerID %q does not start with %s://", id, ProviderName)
	}
	return nil
}

func (s source) Lookup(ctx context.Context, refs []instance.Ref) []instance.Result {
	results := make([]instance.Result, len(refs))
	for i, ref := range refs {
		results[i] = s.Confirm(ctx, ref)
	}
	return results
}

func (s source) Confirm(_ context.Context, ref instance.Ref) instance.Result {
	name := ref.NodeName
	if ref.ProviderID != "" {
		name = strings.TrimPrefix(ref.ProviderID, ProviderName+"://")
	}
	node, ok := s.cfg.Node[name]
	if !ok {
		return instance.Absent()
	}
	return instance.Found(machine{name: name, address: node.Address})
}

func (s source) Metadata(_ context.Context, _ *v1.Node, found instance.Instance) (*cloudprovider.InstanceMetadata, error) {
	m, ok := found.(machine)
	if !ok {
		return nil, fmt.Errorf("instance is a %T, not a machine", found)
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:   m.ProviderID(),
		InstanceType: "static",
		NodeAddresses: []v1.NodeAddress{
			{Type: v1.NodeHostName, Address: m.name},
			{Type: v1.NodeInternalIP, Address: m.address},
		},
	}, nil
}
