package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/routes"
)

const (
	// ProviderName is the name of this provider, and the scheme of its provider IDs.
	ProviderName = nodes.ProviderName
	// eventSource is the source of Events.
	eventSource = "cloud-provider-openstack"
	// clientName is the account of the node controllers, which may write Events with
	// --use-service-account-credentials.
	clientName = "node-controller"
	// requestsPerLookup is how many requests are made one after the other for a Node: for its
	// server and its actions or ports, and for subports or the server of another Node.
	requestsPerLookup = 3
	// serviceSyncs is how many Services are synced at once by default. Most of the workers wait
	// for Octavia. With 1,000 Nodes, each has about 200 KiB in use.
	serviceSyncs = 20
)

func init() {
	cloudprovider.RegisterCloudProvider(ProviderName, newCloud)
}

// flags are the command-line flags of this provider. A factory gets nothing but the
// cloud-config, so they are where it can find them.
var flags struct {
	userAgent []string
}

// Descriptor describes the provider to the binary that links it.
func Descriptor() provider.Descriptor {
	return provider.Descriptor{
		Name:    ProviderName,
		Summary: "OpenStack",
		Capabilities: []provider.Capability{
			{Name: "instances", Supported: true, Note: "trunk ports, floating IPs, regional provider IDs"},
			{Name: "load balancers", Supported: true, Note: "Octavia, with floating IPs, TLS, health monitors, security groups; shared ones"},
			{Name: "routes", Supported: true, Note: "extra routes of a Neutron router, if the cloud-config has its ID; IPv4 and IPv6"},
		},
		ServiceSyncs: serviceSyncs,
		Decode:       decodeProblems,
		Explain:      explain,
		Prove:        prove,
		Reference:    fullReference(),
		AddFlags:     func(fs *pflag.FlagSet) { addFlags(fs, &flags.userAgent) },
	}
}

// addFlags adds the flags of this provider.
func addFlags(fs *pflag.FlagSet, userAgent *[]string) {
	fs.StringArrayVar(userAgent, "user-agent", nil,
		"Component to add to the User-Agent header of requests to OpenStack. Repeat the flag to add several.")
}

// fullReference is the reference with the metrics of the client.
func fullReference() provider.Reference {
	r := reference()
	r.Metrics = client.AllMetrics()

	return r
}

// cloud implements cloudprovider.Interface.
type cloud struct {
	config      *Config
	environment environment
	client      *client.Client
	source      *nodes.Source
	instances   *instance.V2
	// routes is nil without a router, loadBalancer if the cloud-config disables it.
	routes       *routes.Routes
	loadBalancer *loadBalancer
	// readCredentials reads credentials again whenever they change, nil if they
	// cannot.
	readCredentials func(context.Context)
	// nodes has the Nodes of the cluster by their servers, from when there are
	// informers.
	nodes atomic.Pointer[nodeindex.Index]

	inventory  *inventory.Inventory
	background *provider.Background
}

var (
	_ cloudprovider.Interface    = (*cloud)(nil)
	_ cloudprovider.InformerUser = (*cloud)(nil)
	_ provider.Closer            = (*cloud)(nil)
	_ provider.NodeRequeuer      = (*cloud)(nil)
	_ provider.Rotator           = (*cloud)(nil)
	_ provider.ServiceSyncer     = (*cloud)(nil)
)

// newCloud is the factory. It checks everything that can be known offline and connects
// to nothing.
func newCloud(r io.Reader) (cloudprovider.Interface, error) {
	if r == nil {
		return nil, errors.New(textNoConfig)
	}
	file, err := config.ReadFrom(r)
	if err != nil {
		return nil, err
	}
	c, err := newCloudFrom(file, processEnvironment(), tuning{client: client.Options{Metrics: apiMetrics(), LoginGuard: login.OfProcess()}})
	if err != nil {
		return nil, err // not a nil *cloud in an interface
	}

	return c, nil
}

// tuning are the durations that tests shorten. The zero value is what production uses.
type tuning struct {
	instances instance.Options
	client    client.Options
	inventory inventory.Config
	balancing loadBalancerTuning
}

// apiMetrics counts the calls of the process.
var apiMetrics = metrics.OfProcess(func() *client.Metrics { return client.NewMetrics(metrics.New(ProviderName)) })

// newCloudFrom makes the parts of the provider.
func newCloudFrom(file *config.File, env environment, t tuning) (*cloud, error) {
	cfg, problems := decode(file, env)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	source, read := credentialSource(file, cfg, env)
	settings := cfg.clientConfig()
	settings.UserAgent = flags.userAgent
	if t.client.Metrics == nil {
		t.client.Metrics = client.NewMetrics(metrics.Discard())
	}
	api, err := client.New(settings, source, t.client)
	if err != nil {
		return nil, err
	}
	c := &cloud{config: cfg, environment: env, client: api, readCredentials: read, background: provider.NewBackground()}
	t.inventory.Nodes = c.servers
	t.inventory.Metrics = metrics.New(ProviderName).Snapshot("servers")
	servers := inventory.New(inventory.API{Compute: api.Compute(), Network: api.Network(), Project: api.Project}, t.inventory)
	c.inventory = servers
	c.source = nodes.New(cfg.nodesConfig(), servers, c.nodes.Load)
	c.routes = routes.New(routes.Config{RouterID: cfg.Route.RouterID, Servers: c.source.ServerOf}, api.Network())
	t.instances.Provider = ProviderName
	t.instances.DeletionLimit, t.instances.Nodes = cfg.deletionLimit, func() int { return c.nodes.Load().Len() }
	t.instances.Metrics = metrics.New(ProviderName)
	t.instances.Timeout = cmp.Or(t.instances.Timeout, max(instance.DefaultTimeout, requestsPerLookup*time.Duration(cfg.Metadata.RequestTimeout)))
	c.instances = instance.New(c.source, t.instances)
	if cfg.LoadBalancer.Enabled {
		c.serveServices(cfg, servers, t)
	}

	return c, nil
}

// serveServices makes the part that serves Services of type LoadBalancer.
func (c *cloud) serveServices(cfg *Config, servers *inventory.Inventory, t tuning) {
	t.balancing.Waits.Limit = cmp.Or(t.balancing.Waits.Limit, cfg.waitLimit)
	c.loadBalancer = newLoadBalancer(loadBalancerConfig{
		Config:     cfg,
		Region:     c.client.Region(),
		Octavia:    c.client.LoadBalancer(),
		Network:    c.client.Network(),
		KeyManager: c.client.KeyManager(),
		Project:    c.client.Project,
		Inventory:  servers,
		Nodes:      c.nodes.Load,
		ServerOf:   c.source.ServerOf,
		Step:       metrics.New(ProviderName).Step,
		Reconcile:  t.client.Metrics.Reconcile,
		Tuning:     t.balancing,
	})
}

// Initialize starts the background work and returns. With leader migration it is called
// twice. There is no connection to wait for: the first call logs in.
func (c *cloud) Initialize(builder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	c.background.Start(stop, func() {
		c.background.Go(c.instances.Run)
		if c.readCredentials != nil {
			c.background.Go(c.readCredentials)
		}
		if c.loadBalancer != nil {
			c.loadBalancer.setClients(builder)
			c.loadBalancer.services.Measure(metrics.New(ProviderName))
		}
		api, err := builder.Client(clientName)
		if err != nil {
			klog.ErrorS(err, "No client for Events")

			return
		}
		recorder := c.background.Recorder(api, eventSource)
		c.instances.SetRecorder(recorder)
		c.routes.SetRecorder(recorder)
		if c.loadBalancer != nil {
			c.loadBalancer.services.SetRecorder(recorder)
		}
	})
}

// SetInformers implements cloudprovider.InformerUser: that many servers are missing at
// once counts, and that those of other Nodes are found.
func (c *cloud) SetInformers(factory informers.SharedInformerFactory) {
	index, err := nodes.IndexNodes(factory.Core().V1().Nodes().Informer())
	if err != nil {
		klog.ErrorS(err, "Nodes cannot be looked up, those of missing servers are kept unless their deletion is recorded")

		return
	}
	c.nodes.Store(index)
	if err := c.routes.SetInformers(factory); err != nil {
		klog.ErrorS(err, "Nodes cannot be looked up by their addresses, there are no routes")
	}
}

// servers returns the IDs of the servers of all Nodes, and whether all Nodes are known.
func (c *cloud) servers() ([]string, bool) {
	index := c.nodes.Load()
	if !index.HasSynced() {
		return nil, false
	}
	var ids []string
	for _, node := range index.List() {
		ids = append(ids, c.source.ServerOf(node)...)
	}

	return ids, true
}

// SetNodeRequeue implements provider.NodeRequeuer.
func (c *cloud) SetNodeRequeue(requeue func(nodeName string)) { c.instances.SetRequeue(requeue) }

// SetServiceWorkers implements provider.ServiceSyncer.
func (c *cloud) SetServiceWorkers(n int) {
	if c.loadBalancer != nil {
		c.loadBalancer.waiter.SetWorkers(n)
	}
}

// LastWrite implements provider.Writer.
func (c *cloud) LastWrite() time.Time { return c.client.LastWrite() }

// Close stops the background work, waits for writes under way, revokes the token and closes idle connections.
func (c *cloud) Close(ctx context.Context) error {
	stuck := c.background.Close(ctx)
	c.inventory.Close()
	if c.loadBalancer != nil {
		c.loadBalancer.lists.Close()
	}
	if stuck != nil {
		stuck = fmt.Errorf("stop the OpenStack provider: %w", stuck)
	}

	return errors.Join(stuck, c.client.Close(ctx))
}

// InstancesV2 implements cloudprovider.Interface. It is always offered: as long as there
// is no endpoint of Nova, its calls fail with the reason.
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

// Routes implements cloudprovider.Interface. Routes are offered if there is a router-id.
// Whether Neutron has the extension is found out by the calls: until it is known, they
// fail.
func (c *cloud) Routes() (cloudprovider.Routes, bool) {
	if c.routes == nil {
		return nil, false
	}

	return c.routes, true
}

// Instances is not offered: InstancesV2 replaces it.
func (c *cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones is not offered: InstancesV2 replaces it.
func (c *cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters is not offered: nothing calls it.
func (c *cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// ProviderName implements cloudprovider.Interface.
func (c *cloud) ProviderName() string { return ProviderName }

// HasClusterID is true: servers are distinguished without a cluster ID, and load
// balancers have the cluster name in theirs.
func (c *cloud) HasClusterID() bool { return true }
