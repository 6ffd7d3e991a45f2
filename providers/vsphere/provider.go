package vsphere

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/topology"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/loadbalancers"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/routes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

const (
	// ProviderName is the registered name and the scheme of provider IDs.
	ProviderName = nodes.ProviderName
	// clientName is what the Kubernetes client for Secrets calls itself.
	clientName = "vsphere-cloud-controller-manager"
	// nodeClientName is the account that the node controllers use, which may patch
	// Nodes and write Events also with --use-service-account-credentials.
	nodeClientName = "node-controller"
	// connectPeriod is how often the start is tried again, for a Kubernetes API
	// that did not return a client.
	connectPeriod = 5 * time.Second
)

func init() {
	cloudprovider.RegisterCloudProvider(ProviderName, newCloud)
}

// flags are the command-line flags of this provider. A factory gets nothing but
// the cloud-config, so they are where it can find them.
var flags struct {
	nodeLabels string
}

// Descriptor describes the provider to the binary that links it.
func Descriptor() provider.Descriptor {
	return provider.Descriptor{
		Name:    ProviderName,
		Summary: "VMware vSphere",
		Capabilities: []provider.Capability{
			{Name: "instances", Supported: true, Note: "several vCenters and datacenters, zones from tags, dual stack"},
			{Name: "load balancers", Supported: true, Note: "in NSX-T"},
			{Name: "routes", Supported: true, Note: "in a tier-1 gateway of NSX-T"},
		},
		Decode:    decodeProblems,
		Explain:   explain,
		Prove:     prove,
		Reference: reference(),
		AddFlags: func(fs *pflag.FlagSet) {
			fs.StringVar(&flags.nodeLabels, "node-labels", "", "Labels to add to every Node when it is initialized, as key=value,key=value. Existing labels are kept.")
		},
	}
}

// cloud is the provider as the framework sees it.
type cloud struct {
	config *Config
	// environment is what the cloud-config was decoded in.
	environment environment

	tuning    tuning
	source    *nodes.Source
	instances *instance.V2
	// nsxt calls the NSX-T manager, in which load balancers and routes are. What the
	// cloud-config does not have is nil.
	nsxt          *nsx.Client
	loadBalancers *loadbalancers.LoadBalancers
	routes        *routes.Routes
	// nsxtPassword gets the Secret with the credentials of the manager, if there is one.
	nsxtPassword *nsx.Password
	// clusterName is that of the flag --cluster-name.
	clusterName string
	// vcenters are there once the provider has connected.
	vcenters atomic.Pointer[[]*vcenter]

	background *provider.Background
}

var (
	_ cloudprovider.Interface = (*cloud)(nil)
	_ provider.Closer         = (*cloud)(nil)
	_ provider.NodeRequeuer   = (*cloud)(nil)
	_ provider.Rotator        = (*cloud)(nil)
	_ provider.Writer         = (*cloud)(nil)
	_ provider.ClusterNamer   = (*cloud)(nil)

	_ cloudprovider.InformerUser = (*cloud)(nil)
)

// newCloud is the factory. It checks everything that can be known offline and
// connects to nothing.
func newCloud(r io.Reader) (cloudprovider.Interface, error) {
	if r == nil {
		return nil, errors.New(textNoConfig)
	}
	file, err := config.ReadFrom(r)
	if err != nil {
		return nil, err
	}
	env := processEnvironment()
	cfg, _, problems := decode(file, env)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	labels, err := topology.ParseLabels("--node-labels", flags.nodeLabels)
	if err != nil {
		return nil, err
	}

	return newCloudFrom(cfg, env, labels, tuning{session: session.Options{LoginGuard: login.OfProcess()}, nsxtLogins: nsxtLogins()})
}

// tuning are the times that tests shorten. The zero value is what production
// uses.
type tuning struct {
	// proof is how long a proof waits for vCenters. Default: [proofTimeout].
	proof time.Duration
	// recorder counts what snapshots and lists do. Default: that of the process.
	recorder  *metrics.Recorder
	instances instance.Options
	session   session.Options
	inventory inventory.Config
	absence   nodes.AbsenceLimits
	nsxt      nsx.Options
	// nsxtLogins limits refused logins to the NSX-T manager. Default: for this provider
	// alone.
	nsxtLogins *login.Guard
	// balancing shortens the times of load balancers, and wait those of routes.
	balancing loadbalancers.Tuning
	wait      plan.Wait
}

func newCloudFrom(cfg *Config, env environment, labels map[string]string, t tuning) (*cloud, error) {
	t.instances.Provider = ProviderName
	t.instances.DeleteByName = cfg.deleteByName
	t.instances.KeepMissing = cfg.skipNodeDeletion
	t.instances.DeletionLimit = cfg.deletionLimit
	t.instances.Metrics = metrics.New(ProviderName)
	c := &cloud{config: cfg, environment: env, source: newSource(cfg, labels, t), background: provider.NewBackground()}
	t.instances.EvidenceSince, t.instances.Nodes = c.source.Replaced, c.source.Nodes
	c.tuning = t
	c.instances = instance.New(c.source, t.instances)
	if cfg.usesNSXT() {
		if t.nsxtLogins == nil {
			t.nsxtLogins = login.NewGuard(nsx.LoginLimits(), clock.RealClock{})
		}
		var err error
		if c.nsxt, c.nsxtPassword, err = newNSXT(&cfg.NSXT, t.nsxtLogins, t.nsxt); err != nil {
			return nil, err
		}
	}
	if cfg.hasLoadBalancers() {
		c.loadBalancers = loadbalancers.New(loadbalancers.Config{
			Settings: cfg.balancing(), Step: metrics.New(ProviderName).Step, Tuning: t.balancing,
		}, c.nsxt)
	}
	if cfg.Route.RouterPath != "" {
		c.routes = routes.New(routes.Config{RouterPath: string(cfg.Route.RouterPath), Wait: t.wait}, c.nsxt)
	}

	return c, nil
}

// newSource returns what finds the VMs of Nodes.
func newSource(cfg *Config, labels map[string]string, t tuning) *nodes.Source {
	return nodes.New(nodes.Config{Zones: cfg.Labels.Zone != "" || cfg.Labels.Region != "", Labels: labels, Absence: t.absence})
}

// Initialize starts sessions and change feeds in the background and returns.
// With leader migration it is called twice.
func (c *cloud) Initialize(builder cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	c.background.Start(stop, func() {
		c.writeNodes(builder)
		c.serveServices(builder)
		c.background.Go(func(ctx context.Context) { c.startWithRetry(ctx, func() error { return c.connect(builder) }) })
		if c.nsxt != nil && c.config.NSXT.hasSecret() {
			c.background.Go(func(ctx context.Context) { c.startWithRetry(ctx, func() error { return c.followSecret(builder) }) })
		}
		c.background.Go(c.instances.Run)
	})
}

// SetInformers implements cloudprovider.InformerUser: what has to be read of one
// Node's VM is read for those of all Nodes at once.
func (c *cloud) SetInformers(factory informers.SharedInformerFactory) {
	index, err := nodes.IndexNodes(factory.Core().V1().Nodes().Informer())
	if err != nil {
		klog.ErrorS(err, "Nodes cannot be indexed, the vCenters that they name are not known")

		return
	}
	c.source.SetNodes(index)
	if c.loadBalancers != nil {
		c.loadBalancers.SetInformers(factory)
	}
	if c.routes == nil {
		return
	}
	if err := c.routes.SetInformers(factory); err != nil {
		klog.ErrorS(err, "Nodes cannot be indexed, there are no routes")
	}
}

// SetNodeRequeue implements provider.NodeRequeuer.
func (c *cloud) SetNodeRequeue(requeue func(nodeName string)) { c.instances.SetRequeue(requeue) }

// SetClusterName implements provider.ClusterNamer.
func (c *cloud) SetClusterName(name string) { c.clusterName = name }

// startWithRetry calls start until it succeeds.
func (c *cloud) startWithRetry(ctx context.Context, start func() error) {
	_ = wait.PollUntilContextCancel(ctx, connectPeriod, true, func(context.Context) (bool, error) {
		err := start()
		if err != nil {
			klog.ErrorS(err, "Starting the vSphere provider failed, trying again", "after", connectPeriod)
		}

		return err == nil, nil
	})
}

// followSecret takes the credentials of the NSX-T manager from a Secret.
func (c *cloud) followSecret(builder cloudprovider.ControllerClientBuilder) error {
	secret, err := nsxtSecret(&c.config.NSXT, builder)
	if err != nil {
		return err
	}
	c.nsxtPassword.Use(secret)
	c.background.Go(secret.Run)

	return nil
}

// writeNodes writes the label of their vCenter to Nodes, and Events about what is
// wrong with their VMs.
func (c *cloud) writeNodes(builder cloudprovider.ControllerClientBuilder) {
	client, err := builder.Client(nodeClientName)
	if err != nil {
		klog.ErrorS(err, "No client for Nodes, they will have no Events and, once initialized, no labels of this provider")

		return
	}
	c.background.Go(func(ctx context.Context) { c.source.RunLabeler(ctx, client.CoreV1().Nodes()) })
	recorder := c.background.Recorder(client, clientName)
	c.instances.SetRecorder(recorder)
	c.source.SetRecorder(recorder)
}

// connect makes the vCenters and keeps their inventories current until Close.
func (c *cloud) connect(builder cloudprovider.ControllerClientBuilder) error {
	t := c.tuning
	t.inventory.Wanted = c.source.Wanted
	vcenters, watchers, err := newVCenters(c.config, t, builder)
	if err != nil {
		return err
	}
	for _, w := range watchers {
		c.background.Go(w.Run)
	}
	retired, used := lists.Split(vcenters, func(vc *vcenter) bool { return vc.Retired })
	for _, vc := range used {
		c.background.Go(vc.Inventory.Run)
	}
	if len(retired) > 0 {
		c.background.Go(func(ctx context.Context) { c.followRetired(ctx, used, retired) })
	}
	c.vcenters.Store(&vcenters)
	c.source.Start(lists.Map(vcenters, func(vc *vcenter) *nodes.VCenter { return vc.VCenter }))

	return nil
}

// connected returns the vCenters, or none before there are any.
func (c *cloud) connected() []*vcenter {
	if vcenters := c.vcenters.Load(); vcenters != nil {
		return *vcenters
	}

	return nil
}

// followRetired follows the retired vCenters once a login to each of the others was tried: a
// retired one that refuses the account, or never responds, would delay them.
func (c *cloud) followRetired(ctx context.Context, used, retired []*vcenter) {
	var logins sync.WaitGroup
	for _, vc := range used {
		logins.Go(func() { _ = vc.logIn(ctx) })
	}
	logins.Wait()
	for _, vc := range retired {
		c.background.Go(vc.Inventory.Run)
	}
}

// Close ends all sessions and starts no new one.
func (c *cloud) Close(ctx context.Context) error {
	c.background.Stop()
	err := c.closeSessions(ctx)
	if stuck := c.background.Close(ctx); stuck != nil {
		return errors.Join(err, fmt.Errorf("stop the vSphere provider: %w", stuck))
	}
	// What was under way may have made vCenters and connections meanwhile.
	return errors.Join(err, c.closeSessions(ctx))
}

// LastWrite implements provider.Writer: nothing is written to vCenter.
func (c *cloud) LastWrite() time.Time {
	if c.nsxt == nil {
		return time.Time{}
	}

	return c.nsxt.LastWrite()
}

// closeSessions ends the sessions with all vCenters, and the writes to the NSX-T manager,
// at the same time.
func (c *cloud) closeSessions(ctx context.Context) error {
	vcenters := c.connected()
	errs := make([]error, len(vcenters)+1)
	var all sync.WaitGroup
	for i, vc := range vcenters {
		all.Go(func() { errs[i] = vc.session.Close(ctx) })
	}
	if c.nsxt != nil {
		all.Go(func() { errs[len(vcenters)] = c.nsxt.Close(ctx) })
	}
	all.Wait()

	return errors.Join(errs...)
}

// InstancesV2 implements cloudprovider.Interface.
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.instances, true }

// Instances is not offered: InstancesV2 replaces it.
func (c *cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones is not offered: InstancesV2 replaces it.
func (c *cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters is not offered: nothing calls it.
func (c *cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// ProviderName implements cloudprovider.Interface.
func (c *cloud) ProviderName() string { return ProviderName }

// HasClusterID is true: VMs are distinguished without a cluster ID.
func (c *cloud) HasClusterID() bool { return true }
