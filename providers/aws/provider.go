package aws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/routes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/tagging"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

const (
	// ProviderName is the registered name and the scheme of provider IDs.
	ProviderName = "aws"
	// eventSource is the source of Events.
	eventSource = "aws-cloud-provider"
	// eventClientName is the account that the node controllers use, which may
	// write Events also with --use-service-account-credentials.
	eventClientName = "node-controller"
)

func init() {
	cloudprovider.RegisterCloudProvider(ProviderName, newCloud)
}

// Descriptor describes the provider to the binary that links it. The controllers
// of a Descriptor read the flags of the same one.
func Descriptor() provider.Descriptor {
	var flags tagging.Options

	return provider.Descriptor{
		Name:    ProviderName,
		Summary: "Amazon EC2",
		Capabilities: []provider.Capability{
			{Name: "instances", Supported: true, Note: "dual stack, network topology, Fargate"},
			{Name: "load balancers", Supported: true, Note: "classic and network"},
			{Name: "routes", Supported: true, Note: "in the route table of the cluster"},
		},
		Decode:    decodeProblems,
		Explain:   explain,
		Prove:     prove,
		Reference: reference(),
		AddFlags:  flags.AddFlags,

		Controllers:             controllers(&flags),
		ControllersOffByDefault: []string{tagging.Name},
	}
}

// cloud implements cloudprovider.Interface.
type cloud struct {
	config   *Config
	identity identity
	clients  *client.Clients
	tuning   cloudTuning

	nodeParts
	instances    *instance.V2
	loadBalancer *loadBalancer
	routes       *routes.Routes

	background *provider.Background
	// recorder records Events. Initialize sets it before any controller starts; it
	// stays nil without a client.
	recorder record.EventRecorder
}

var (
	_ cloudprovider.Interface = (*cloud)(nil)
	_ provider.Closer         = (*cloud)(nil)
	_ provider.NodeRequeuer   = (*cloud)(nil)
)

// newCloud is the factory. Without a cloud-config, which is nil then, all
// settings have their defaults. It queries AWS only for its own identity.
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
	ctx, cancel := context.WithTimeout(context.Background(), identityTimeout)
	defer cancel()
	c, err := newCloudFrom(ctx, cfg, cloudTuning{})
	if err != nil {
		return nil, err // not a nil *cloud in an interface
	}

	return c, nil
}

// cloudTuning are the durations that tests shorten. The zero value selects
// those of production.
type cloudTuning struct {
	instances instance.Options
	source    nodes.Tuning
	client    client.Tuning
	// routes is the clock of what is known about the network interfaces of routes.
	routes    clock.Clock
	balancing loadBalancerTuning
}

// apiMetrics counts the calls of the process.
var apiMetrics = metrics.OfProcess(func() *client.Metrics { return client.NewMetrics(metrics.New(ProviderName)) })

// newCloudFrom creates the clients, determines the identity, and creates the
// parts of the provider.
func newCloudFrom(ctx context.Context, cfg *Config, t cloudTuning) (*cloud, error) {
	clients, id, err := connect(ctx, cfg, client.Options{Metrics: apiMetrics(), Tuning: t.client})
	if err != nil {
		return nil, err
	}
	klog.FromContext(ctx).Info("Determined cluster identity",
		"region", id.Region, "vpc", id.VPC, "cluster", id.Cluster.Name, "instance", id.InstanceID)
	c := &cloud{config: cfg, identity: id, clients: clients, tuning: t, background: provider.NewBackground()}
	c.serveNodes()
	c.serveServices()

	return c, nil
}

// connect creates the clients and determines the identity.
func connect(ctx context.Context, cfg *Config, o client.Options) (*client.Clients, identity, error) {
	o.RoleARN, o.SourceARN, o.Overrides = string(cfg.Global.RoleARN), cfg.Global.SourceARN, cfg.overrides
	base, err := client.Load(ctx, o)
	if err != nil {
		return nil, identity{}, err
	}
	region, err := findRegion(ctx, cfg, base.IMDS())
	if err != nil {
		return nil, identity{}, err
	}
	clients, err := base.In(ctx, region)
	if err != nil {
		return nil, identity{}, err
	}
	id, err := identify(ctx, cfg, base.IMDS(), clients)
	if err != nil {
		return nil, identity{}, errors.Join(err, clients.Close(ctx))
	}

	return clients, id, nil
}

// Initialize starts the background work and returns. With leader migration it
// is called twice.
func (c *cloud) Initialize(builder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	c.background.Start(stop, func() {
		c.background.Go(c.instances.Run)
		c.loadBalancer.services.SetClients(builder)
		c.loadBalancer.services.Measure(metrics.New(ProviderName))
		client, err := builder.Client(eventClientName)
		if err != nil {
			klog.ErrorS(err, "No client for Events, Nodes and Services will have no Events of this provider")

			return
		}
		c.recorder = c.background.Recorder(client, eventSource)
		c.instances.SetRecorder(c.recorder)
		c.loadBalancer.services.SetRecorder(c.recorder)
	})
}

// LastWrite implements provider.Writer.
func (c *cloud) LastWrite() time.Time { return c.clients.LastWrite() }

// Close stops the background work, waits for calls to AWS under way that change
// something, rejects further ones, and closes idle connections.
func (c *cloud) Close(ctx context.Context) error {
	if err := errors.Join(c.background.Close(ctx), c.clients.Close(ctx)); err != nil {
		return fmt.Errorf("stop the AWS provider: %w", err)
	}

	return nil
}

// InstancesV2 implements cloudprovider.Interface.
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return c.instances, true
}

// Routes implements cloudprovider.Interface.
func (c *cloud) Routes() (cloudprovider.Routes, bool) { return c.routes, true }

// Instances is not offered: InstancesV2 replaces it.
func (c *cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones is not offered: InstancesV2 replaces it.
func (c *cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters is not offered: nothing calls it.
func (c *cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// ProviderName implements cloudprovider.Interface.
func (c *cloud) ProviderName() string { return ProviderName }

// HasClusterID reports whether resources of several clusters can be distinguished.
// Where it is false the process starts with --allow-untagged-cloud only.
func (c *cloud) HasClusterID() bool { return c.identity.Cluster.Name != "" }
