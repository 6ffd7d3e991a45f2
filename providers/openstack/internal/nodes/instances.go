package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
)

// Source looks up the servers of Nodes.
type Source struct {
	ids       providerIDs
	rules     AddressRules
	region    string
	inventory *inventory.Inventory
	// nodes returns the Nodes of the cluster.
	nodes func() *nodeindex.Index
	// early limits the Nodes that do not wait for the lists of many.
	early *rate.Limiter
}

var _ instance.Source = (*Source)(nil)

// Config is what a Source is made of.
type Config struct {
	// Region is that of the cloud-config. It may be empty.
	Region string
	// Regional puts the region into provider IDs.
	Regional  bool
	Addresses AddressRules
}

// New returns a Source that finds servers in an inventory. Nodes returns the Nodes of the
// cluster, nil until they are known.
func New(cfg Config, servers *inventory.Inventory, nodes func() *nodeindex.Index) *Source {
	return &Source{
		ids:       providerIDs{region: cfg.Region, regional: cfg.Regional},
		rules:     cfg.Addresses,
		region:    RegionLabel(cfg.Region),
		inventory: servers,
		nodes:     nodes,
		early:     rate.NewLimiter(rate.Every(earlyPeriod), 1),
	}
}

// machine is an instance.Instance: a server of Nova.
type machine struct {
	*inventory.Server
	providerID string
}

// ProviderID implements instance.Instance.
func (m machine) ProviderID() string { return m.providerID }

func (s *Source) machine(server *inventory.Server) machine {
	return machine{Server: server, providerID: s.ids.format(server.ID)}
}

// errNameless is why a Node without a provider ID is kept, whose server is not found: a
// list is no proof that a server is gone.
var errNameless = instance.WithReason(instance.ReasonInstanceNotFound, errors.New(
	"no server of the project has the name of this Node. Without spec.providerID it is kept: delete it if its server is gone"))

// ServerOf returns the ID of a Node's server: none for a Node of another cloud, or one that is not
// initialized.
func (s *Source) ServerOf(node *v1.Node) []string {
	id, err := s.ids.parse(node.Spec.ProviderID)
	if err != nil {
		return nil
	}

	return []string{id}
}

// urgent is the key of the Nodes that a controller looks up soon and often.
const urgent = "urgent"

// IndexNodes adds the index that [New] needs to the informer of Nodes.
func IndexNodes(informer cache.SharedIndexInformer) (*nodeindex.Index, error) {
	return nodeindex.New(informer, "openstack-urgent", func(node *v1.Node) []string {
		if !isUrgent(node) {
			return nil
		}

		return []string{urgent}
	})
}

// Accepts implements instance.Source.
func (s *Source) Accepts(providerID string) error { return s.ids.accepts(providerID) }

// FewNodes is how many Nodes are looked up by requests of their own: up to so many, a list of all
// servers and all ports of the project, which others may have thousands of, costs more.
const FewNodes = 20

// earlyPeriod is how often one of many Nodes that are not initialized is looked up by requests of its
// own, while there are no lists: its server is certain before that of the others is.
const earlyPeriod = 10 * time.Second

// few reports whether few Nodes are looked up along with this one: the cluster has few, or this
// one has to be initialized or is not ready, as few others. All others are updated together. As long as
// lists are at hand nevertheless, only the server of an initialized Node that is not ready, which
// may be deleted, is read alone.
func (s *Source) few(name string) bool {
	nodes := s.nodes()
	if !nodes.HasSynced() {
		return false
	}
	node := nodes.Node(name)
	if s.inventory.IsListed() && (node == nil || isReady(node) || !instance.Initialized(node)) {
		return false
	}
	if nodes.Len() <= FewNodes {
		return true
	}
	if node == nil || !isUrgent(node) {
		return false
	}

	return len(nodes.Find(urgent)) <= FewNodes || !instance.Initialized(node) && s.early.Allow()
}

// isUrgent reports whether a controller looks up a Node soon and often.
func isUrgent(node *v1.Node) bool { return !instance.Initialized(node) || !isReady(node) }

func isReady(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
	})
}

// wanted returns what identifies the server of a Node without a provider ID.
func (s *Source) wanted(ref instance.Ref) inventory.Wanted {
	wanted := inventory.Wanted{Name: ref.NodeName, SystemUUID: ref.SystemUUID}
	if node := s.nodes().Node(ref.NodeName); node != nil {
		for _, address := range node.Status.Addresses {
			wanted.Addresses = append(wanted.Addresses, address.Address)
		}
	}

	return wanted
}

// Lookup implements instance.Source with the inventory, whose lists many Nodes share.
func (s *Source) Lookup(ctx context.Context, ref instance.Ref) instance.Result {
	return s.Find(ctx, ref, s.few(ref.NodeName))
}

// Find looks up a server, alone or in the lists.
func (s *Source) Find(ctx context.Context, ref instance.Ref, alone bool) instance.Result {
	byName, byID := s.inventory.FindByName, s.inventory.Find
	if alone {
		byName, byID = s.inventory.ReadByName, s.inventory.Read
	}
	if ref.ProviderID == "" {
		found, err := byName(ctx, s.wanted(ref))

		return s.named(found, err, instance.Absent())
	}
	id, err := s.ids.parse(ref.ProviderID)
	if err != nil {
		return instance.Failed(err)
	}
	found, err := byID(ctx, id)
	switch {
	case errors.Is(err, inventory.ErrAbsent):
		return instance.Absent()
	case err != nil:
		return instance.Failed(err)
	}

	return instance.Found(s.machine(found))
}

// Confirm implements instance.Source by a request for this server alone. Package
// certainty decides what the response proves.
func (s *Source) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	if ref.ProviderID == "" {
		found, err := s.inventory.ReadByName(ctx, s.wanted(ref))

		return s.named(found, err, instance.Missing(errNameless))
	}
	id, err := s.ids.parse(ref.ProviderID)
	if err != nil {
		return instance.Failed(err)
	}
	found, verdict, err := s.inventory.Confirm(ctx, id)
	if err != nil {
		return instance.Failed(err)
	}
	switch verdict.Kind {
	case certainty.Present:
		return instance.Found(s.machine(found))
	case certainty.Kept:
		return instance.Missing(verdict.Reason)
	case certainty.Absent:
		return instance.Absent().From(s.nova(), "the server does not exist")
	case certainty.Gone:
		return instance.Gone().From(s.nova(), "the server does not exist, and its actions have the deletion")
	case certainty.Uncertain:
		return instance.Failed(verdict.Reason)
	}

	return instance.Failed(fmt.Errorf("unknown verdict %s", verdict.Kind))
}

// nova names what finds servers.
func (s *Source) nova() string { return strings.TrimSpace("Nova " + s.region) }

// named returns the result of a lookup by name, which is absent if no server has it.
func (s *Source) named(found *inventory.Server, err error, absent instance.Result) instance.Result {
	switch {
	case errors.Is(err, inventory.ErrAbsent):
		return absent
	case errors.Is(err, certainty.ErrSeveral):
		return instance.Failed(instance.WithReason(instance.ReasonAmbiguousInstance, err))
	case err != nil:
		return instance.Failed(err)
	}

	return instance.FoundByName(s.machine(found))
}

// Errors of servers that cannot be described now, or not at all.
var (
	errBuilding = apierr.Mark(apierr.ErrUnavailable, errors.New("the server is being built"))
	errNoIP     = instance.WithReason(instance.ReasonNoAddress, errors.New(
		"the server has no IP address that the cloud-config lets a Node have"))
)

// Metadata implements instance.Source. It returns all or an error: labels are written
// once, and an address that is left out is removed from the Node.
func (s *Source) Metadata(ctx context.Context, node *v1.Node, found instance.Instance) (*cloudprovider.InstanceMetadata, error) {
	m, ok := found.(machine)
	if !ok {
		return nil, fmt.Errorf("instance is a %T, not a server", found)
	}
	if m.Status == certainty.StatusBuild {
		return nil, errBuilding // its zone and addresses come later
	}
	addresses, err := s.addresses(ctx, m.Server)
	if err != nil {
		return nil, err
	}
	metadata := &cloudprovider.InstanceMetadata{
		ProviderID:    m.ProviderID(),
		NodeAddresses: addresses,
		Zone:          zoneLabel(m.Zone),
		Region:        s.region,
	}
	if instance.Initialized(node) {
		return metadata, nil
	}
	if metadata.InstanceType, err = s.inventory.InstanceType(ctx, m.Server); err != nil {
		return nil, err
	}

	return metadata, nil
}

// addresses returns the addresses of a server's Node.
func (s *Source) addresses(ctx context.Context, server *inventory.Server) ([]v1.NodeAddress, error) {
	ports, err := s.inventory.Ports(ctx, server)
	if err != nil {
		return nil, err
	}
	list := s.rules.addresses(server, ports)
	isIP := func(a v1.NodeAddress) bool { return a.Type != v1.NodeHostName }
	if !slices.ContainsFunc(list, isIP) {
		return nil, errNoIP
	}

	return list, nil
}
