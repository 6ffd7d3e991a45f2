package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
)

// Config is what a Source is made of.
type Config struct {
	Region string
	VPC    string
	// Families are the families of Node addresses, in this order.
	Families []address.Family
	// TopologyTypes are the instance types that require a network topology.
	TopologyTypes *regexp.Regexp
	// SelfName and SelfID are the Node that this process runs on and its
	// instance. Both are empty if that is not known.
	SelfName, SelfID string
	Tuning           Tuning
}

// Tuning are the durations and clocks that tests replace. Zero values select those of
// production.
type Tuning struct {
	// MaxAge, MissingAge, Window, ListWait and Timeout are fields of inventory.Config.
	MaxAge, MissingAge, Window, ListWait, Timeout time.Duration
	// Clock is the clock of the inventory and of the cache of Fargate nodes.
	Clock clock.PassiveClock
	// TopologyClock is the clock of the cache of topologies, the real one if it is nil.
	TopologyClock clock.PassiveClock
}

// WithDefaults returns the durations with those of production.
func (t Tuning) WithDefaults() Tuning {
	return Tuning{
		MaxAge:     cmp.Or(t.MaxAge, inventory.DefaultMaxAge),
		MissingAge: cmp.Or(t.MissingAge, inventory.DefaultMissingAge),
		Window:     cmp.Or(t.Window, inventory.DefaultWindow),
		ListWait:   t.ListWait,
		Timeout:    cmp.Or(t.Timeout, inventory.DefaultTimeout),
		Clock:      t.Clock,

		TopologyClock: t.TopologyClock,
	}
}

// Source looks up EC2 instances and Fargate nodes.
type Source struct {
	config    Config
	inventory *inventory.Inventory
	fargate   *fargate
	zones     *vpc.Zones
	topology  *topology
	// nodes is set once there are informers.
	nodes atomic.Pointer[nodeindex.Index]
}

var _ instance.Source = (*Source)(nil)

// New returns a source. The inventory and the zones are shared.
func New(config Config, api client.Instances, instances *inventory.Inventory, zones *vpc.Zones) *Source {
	config.Tuning = config.Tuning.WithDefaults()

	return &Source{
		config:    config,
		inventory: instances,
		fargate:   newFargate(api, config.VPC, config.Tuning),
		zones:     zones,
		topology:  newTopology(api, config.TopologyTypes, instances, config.Tuning),
	}
}

// SetNodes sets the index of the Nodes of the cluster that [IndexNodes] made.
func (s *Source) SetNodes(nodes *nodeindex.Index) { s.nodes.Store(nodes) }

// Nodes returns the Nodes of the cluster, nil until there are informers.
func (s *Source) Nodes() *nodeindex.Index { return s.nodes.Load() }

// facts are the properties of a Node's instance.
type facts struct {
	id, instanceType, zone string
	addresses              []v1.NodeAddress
}

// factsOf returns the facts about an instance that was found.
func factsOf(found instance.Instance, families []address.Family) (facts, error) {
	switch n := found.(type) {
	case Machine:
		addresses, err := nodeAddresses(n.Instance, families)

		return facts{id: n.ID, instanceType: n.Type, zone: n.AvailabilityZone, addresses: addresses}, err
	case fargateNode:
		return facts{zone: n.zone, addresses: n.addresses(families)}, nil
	}

	return facts{}, fmt.Errorf("instance is a %T, not one of EC2", found)
}

// Machine is an EC2 instance.
type Machine struct{ *inventory.Instance }

// ProviderID implements instance.Instance.
func (m Machine) ProviderID() string { return inventory.FormatProviderID(m.AvailabilityZone, m.ID) }

// State implements instance.Instance. An instance on its way up or down is not
// stopped: it may still run.
func (m Machine) State() instance.State {
	switch m.Instance.State {
	case types.InstanceStateNameTerminated:
		return instance.Terminated
	case types.InstanceStateNameStopped:
		return instance.Stopped
	case types.InstanceStateNamePending, types.InstanceStateNameRunning,
		types.InstanceStateNameShuttingDown, types.InstanceStateNameStopping:
		return instance.Running
	}

	return instance.Unknown
}

// Accepts implements instance.Source.
func (s *Source) Accepts(providerID string) error {
	_, err := inventory.ParseProviderID(providerID)

	return err
}

// Lookup implements instance.Source with the inventory, which batches
// concurrent queries.
func (s *Source) Lookup(ctx context.Context, ref instance.Ref) instance.Result {
	return s.find(ctx, ref, lookups{s.inventory.Find, s.inventory.FindByName, s.fargate.find})
}

// Confirm implements instance.Source by queries to EC2.
func (s *Source) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	result := s.find(ctx, ref, lookups{s.inventory.Confirm, s.inventory.ConfirmByName, s.fargate.confirm})

	return result.From("EC2 in "+s.config.Region, result.String())
}

// lookups are the three ways to find a Node's instance.
type lookups struct {
	id, name func(ctx context.Context, key string) (*inventory.Instance, error)
	fargate  func(ctx context.Context, name string) (*pod, error)
}

// find runs the lookup that matches the Ref.
func (s *Source) find(ctx context.Context, ref instance.Ref, by lookups) instance.Result {
	id, err := s.identify(ref)
	switch {
	case err != nil:
		return instance.Failed(err)
	case inventory.IsFargate(id):
		found, err := by.fargate(ctx, id)

		return result(instance.FoundByName(fargateNode{found, ref.ProviderID}), err) // by its IP address
	case id == "":
		found, err := by.name(ctx, ref.NodeName)

		return result(instance.FoundByName(Machine{found}), err)
	}
	found, err := by.id(ctx, id)
	if ref.ProviderID == "" && id == s.config.SelfID { // the Node has the name of the one that this process runs on
		return result(instance.FoundByName(Machine{found}), err)
	}

	return result(instance.Found(Machine{found}), err)
}

// identify returns the identifier of a Ref's instance: its provider ID, or the
// ID in its name. It is empty if EC2 must be queried for the name. A provider
// ID of another region is an error: the configured region does not have it.
func (s *Source) identify(ref instance.Ref) (id string, err error) {
	if ref.ProviderID == "" {
		return s.identifyName(ref.NodeName)
	}
	if region := inventory.RegionOf(ref.ProviderID); region != "" && region != s.config.Region {
		return "", instance.WithReason(instance.ReasonOtherRegion, fmt.Errorf(
			"provider ID %q is in region %s, and the cloud-config is for %s, whose EC2 does not have it", ref.ProviderID, region, s.config.Region))
	}

	return inventory.ParseProviderID(ref.ProviderID)
}

// identifyName returns the ID of a Node's instance if it can be determined
// without EC2, otherwise an empty string.
func (s *Source) identifyName(nodeName string) (id string, err error) {
	switch {
	case nodeName == "":
		return "", errors.New("the node has neither a provider ID nor a name")
	case nodeName == s.config.SelfName && s.config.SelfID != "":
		return s.config.SelfID, nil
	case isResourceName(nodeName):
		return resourceID(nodeName)
	}
	if node := s.nodes.Load().Node(nodeName); node != nil && node.Spec.ProviderID != "" {
		return inventory.ParseProviderID(node.Spec.ProviderID)
	}

	return "", nil
}

// ErrFargateRoute means that a Node has no instance that a route could lead to.
var ErrFargateRoute = errors.New("a Fargate node has no EC2 instance")

// InstanceOf returns the EC2 instance of a Node, by name.
func (s *Source) InstanceOf(ctx context.Context, nodeName string) (*inventory.Instance, error) {
	id, err := s.identifyName(nodeName)
	switch {
	case err != nil:
		return nil, err
	case inventory.IsFargate(id):
		return nil, ErrFargateRoute
	case id != "":
		return s.inventory.Find(ctx, id)
	}

	return s.inventory.FindByName(ctx, nodeName)
}

// result returns the instance that was found, or converts the error.
func result(found instance.Result, err error) instance.Result {
	switch {
	case err == nil:
		return found
	case errors.Is(err, errPodGone):
		return instance.Gone()
	case errors.Is(err, inventory.ErrAbsent), errors.Is(err, errNoInterface):
		return instance.Absent()
	case errors.Is(err, inventory.ErrUntagged):
		return instance.Failed(instance.WithReason(instance.ReasonInstanceNotFound, err))
	case errors.Is(err, apierr.ErrConflict):
		return instance.Failed(instance.WithReason(instance.ReasonAmbiguousInstance, err))
	}

	return instance.Failed(err)
}

// Metadata implements instance.Source. Labels are written only when a Node is
// initialized; afterwards only the addresses are used, which cost no call.
func (s *Source) Metadata(ctx context.Context, node *v1.Node, found instance.Instance) (*cloudprovider.InstanceMetadata, error) {
	f, err := factsOf(found, s.config.Families)
	if err != nil {
		return nil, err
	}
	metadata := &cloudprovider.InstanceMetadata{
		ProviderID:    found.ProviderID(),
		InstanceType:  f.instanceType,
		Zone:          f.zone,
		Region:        s.config.Region,
		NodeAddresses: f.addresses,
	}
	if instance.Initialized(node) {
		return metadata, nil
	}
	if metadata.AdditionalLabels, err = s.labels(ctx, node, f); err != nil {
		return nil, err
	}

	return metadata, nil
}

// labels returns the labels of a new Node in addition to those of the
// framework. They are written once and never corrected.
func (s *Source) labels(ctx context.Context, node *v1.Node, f facts) (map[string]string, error) {
	if f.zone == "" {
		return nil, fmt.Errorf("EC2 does not return the availability zone now: %w", apierr.ErrUnavailable)
	}
	labels, err := zoneLabels(ctx, s.zones, node, f.zone)
	if err != nil {
		return nil, err
	}
	places, err := s.topology.labels(ctx, node, f)
	if err != nil {
		return nil, err
	}
	maps.Copy(labels, places)

	return labels, nil
}
