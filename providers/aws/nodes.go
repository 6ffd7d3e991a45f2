package aws

import (
	"cmp"
	"time"

	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/routes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

var _ cloudprovider.InformerUser = (*cloud)(nil)

// nodeParts are the parts that serve Nodes, and are shared with load balancers.
type nodeParts struct {
	inventory *inventory.Inventory
	zones     *vpc.Zones
	source    *nodes.Source
}

// newNodeParts creates the parts that serve Nodes.
func newNodeParts(cfg *Config, id identity, api client.EC2, times nodes.Tuning, lists *metrics.Snapshot) nodeParts {
	instances := inventory.New(api, inventory.Config{
		Cluster: id.Cluster, VPC: id.VPC,
		MaxAge: times.MaxAge, MissingAge: times.MissingAge, Window: times.Window, ListWait: times.ListWait, Timeout: times.Timeout, Clock: times.Clock,
		Metrics: lists,
	})
	zones := vpc.NewZones(api)

	return nodeParts{inventory: instances, zones: zones, source: nodes.New(nodes.Config{
		Region: id.Region, VPC: id.VPC,
		Families: cfg.families, TopologyTypes: cfg.topologyTypes,
		SelfName: id.NodeName, SelfID: id.InstanceID,
		Tuning: times,
	}, api, instances, zones)}
}

// serveNodes creates the parts that serve Nodes and routes to them.
func (c *cloud) serveNodes() {
	id, times, api := c.identity, c.tuning.source.WithDefaults(), c.clients.EC2
	c.nodeParts = newNodeParts(c.config, id, api, times, metrics.New(ProviderName).Snapshot("instances"))
	options := instanceOptions(c.tuning.instances)
	options.Provider, options.DeleteByName = ProviderName, c.config.deleteByName
	options.EvidenceSince = func() time.Time { return evidenceSince(c.clients.OwnerChanged(), times) }
	options.DeletionLimit, options.Nodes = c.config.deletionLimit, func() int { return c.source.Nodes().Len() }
	options.Metrics = metrics.New(ProviderName)
	c.instances = instance.New(c.source, options)
	c.routes = routes.New(routes.Config{
		Cluster: id.Cluster, VPC: id.VPC, TableID: c.config.Global.RouteTableID,
		SelfName: id.NodeName, SelfID: id.InstanceID,
		Inventory: c.inventory, Nodes: c.source.Nodes, InstanceOf: c.source.InstanceOf,
		Clock: c.tuning.routes,
	}, api)
}

// instanceOptions returns options in which the reads of EC2 for one Node may take all of
// their attempts.
func instanceOptions(o instance.Options) instance.Options {
	o.Timeout, o.StepTimeout = cmp.Or(o.Timeout, client.ListTimeout), cmp.Or(o.StepTimeout, client.ListTimeout)

	return o
}

// evidenceSince returns the time since which no Lookup is about the account before
// the last change: until then the inventory may have its instances.
func evidenceSince(changed time.Time, t nodes.Tuning) time.Time {
	if changed.IsZero() {
		return changed
	}

	return changed.Add(t.MaxAge + inventory.LongestFetch(t.Timeout))
}

// SetNodeRequeue implements provider.NodeRequeuer.
func (c *cloud) SetNodeRequeue(requeue func(nodeName string)) { c.instances.SetRequeue(requeue) }

// SetInformers enables lookups of Nodes by their instance. It is called before
// the informers start.
func (c *cloud) SetInformers(factory informers.SharedInformerFactory) {
	index, err := nodes.IndexNodes(factory.Core().V1().Nodes().Informer())
	if err != nil {
		klog.ErrorS(err, "Nodes cannot be looked up by their instances, no routes are created")

		return
	}
	c.source.SetNodes(index)
}
