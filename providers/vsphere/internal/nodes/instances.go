package nodes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// Source looks up the VMs of all configured vCenters.
type Source struct {
	cfg Config
	// started holds the vCenters, from when there are any.
	started atomic.Pointer[start]
	// nodes are the Nodes of the cluster, by the vCenter that they name. It is set
	// once there are informers.
	nodes atomic.Pointer[nodeindex.Index]

	assigned *assignments
	// twice has the pairs of sections that were found to be of one vCenter.
	twice    sync.Map
	warnings *warnings
	labeler  *labeler
}

var _ instance.Source = (*Source)(nil)

// Config is what a Source is made of.
type Config struct {
	// Zones reports whether Nodes get a zone or a region at all.
	Zones bool
	// Labels are added to Nodes when they are initialized.
	Labels  map[string]string
	Absence AbsenceLimits
}

// start is what the provider works with once it is initialized.
type start struct {
	vcenters []*VCenter
	at       time.Time
}

// New returns a Source that knows nothing before [Source.Start].
func New(cfg Config) *Source {
	cfg.Absence = cfg.Absence.withDefaults()

	return &Source{cfg: cfg, assigned: newAssignments(), warnings: newWarnings(), labeler: newLabeler()}
}

// SetRecorder sets the recorder for warnings on Nodes.
func (s *Source) SetRecorder(recorder record.EventRecorder) { s.warnings.setRecorder(recorder) }

// RunLabeler writes labels to Nodes until its context ends.
func (s *Source) RunLabeler(ctx context.Context, nodes typedv1.NodeInterface) {
	s.labeler.run(ctx, nodes)
}

// SetNodes sets the index of the Nodes of the cluster that [IndexNodes] made.
func (s *Source) SetNodes(nodes *nodeindex.Index) { s.nodes.Store(nodes) }

// Nodes returns how many Nodes there are, 0 as long as there is no index.
func (s *Source) Nodes() int { return s.nodes.Load().Len() }

// Wanted lists the queries that find the VMs of all Nodes: what one Node's VM is
// read for is read for all of them in the same call.
func (s *Source) Wanted() []inventory.Query {
	var wanted []inventory.Query
	for _, node := range s.nodes.Load().List() {
		list, err := queriesOf(refOf(node))
		if err != nil {
			continue // a Node of another provider
		}
		wanted = append(wanted, list...)
	}

	return wanted
}

// Start sets the vCenters, whose inventories are being read from now on.
func (s *Source) Start(vcenters []*VCenter) {
	for _, vc := range vcenters {
		vc.searches, vc.warnings = rate.NewLimiter(rate.Every(searchPeriod), 1), s.warnings
	}
	s.started.Store(&start{vcenters: vcenters, at: time.Now()})
}

// current are the vCenters to query. Before there are any, nothing is known.
func (s *Source) current() ([]*VCenter, error) {
	if started := s.started.Load(); started != nil && len(started.vcenters) > 0 {
		return started.vcenters, nil
	}

	return nil, fmt.Errorf("the vSphere provider has not started: %w", apierr.ErrUnavailable)
}

// vm is an instance.Instance: a VM with the vCenter that has it.
type vm struct {
	*inventory.VM
	vcenter *VCenter
	// current tells that the power state is not older than a change feed that
	// works can make it.
	current bool
	// ambiguous is why it may be another VM that is off as well, or nil.
	ambiguous error
	// doubt is why a vCenter could not report whether it has another VM with the
	// UUID or name, nil if none has or this one is known to be the VM of the Node.
	doubt error
}

// runs reports whether the VM is on, isOff whether it is certainly not.
func (v vm) runs() bool  { return v.State() == instance.Running }
func (v vm) isOff() bool { return v.State() == instance.Stopped }

// ProviderID is empty for a VM whose UUID was never read; no Node gets such a
// VM.
func (v vm) ProviderID() string { return formatProviderID(v.UUID) }

// State is Unknown unless the vCenter sees the VM: one whose host or storage is
// out of reach may well be running. So may another VM in a vCenter that is out of reach.
func (v vm) State() instance.State {
	switch {
	case !v.current:
		return instance.Unknown
	case v.Power == types.VirtualMachinePowerStatePoweredOn:
		return instance.Running
	case v.Connection != types.VirtualMachineConnectionStateConnected, v.doubt != nil:
		return instance.Unknown
	case v.Power == types.VirtualMachinePowerStatePoweredOff, v.Power == types.VirtualMachinePowerStateSuspended:
		return instance.Stopped
	}

	return instance.Unknown
}

// Accepts implements instance.Source.
func (s *Source) Accepts(providerID string) error {
	_, err := parseProviderID(providerID)

	return err
}

// Metadata implements instance.Source. Type, zone and region are labels, which
// the framework writes only when it initializes a Node; afterwards addresses
// are all that counts, and tags are not read.
func (s *Source) Metadata(ctx context.Context, node *v1.Node, found instance.Instance) (*cloudprovider.InstanceMetadata, error) {
	v, ok := found.(vm)
	if !ok {
		return nil, fmt.Errorf("instance is a %T, not a VM", found)
	}
	if v.ambiguous != nil {
		return nil, v.ambiguous
	}
	if v.UUID == "" {
		return nil, fmt.Errorf("VM %q in vCenter %s reports no UUID, it may be another one: %w", v.Name, v.vcenter.Name, apierr.ErrUnavailable)
	}
	initialized := instance.Initialized(node)
	if initialized {
		s.relabel(node, v)
	}
	if !initialized && !v.current {
		// Labels are written once and never corrected.
		return nil, fmt.Errorf("the data of VM %q is out of date, vCenter %s does not respond: %w", v.Name, v.vcenter.Name, apierr.ErrUnavailable)
	}
	details, err := v.vcenter.Inventory.Details(ctx, v.VM)
	if err != nil {
		return nil, err
	}
	metadata := &cloudprovider.InstanceMetadata{
		ProviderID:       v.ProviderID(),
		InstanceType:     instanceType(details),
		AdditionalLabels: s.labelsFor(v.vcenter),
	}
	if initialized && v.Power != types.VirtualMachinePowerStatePoweredOn {
		// The tools report nothing; the addresses it had stay on the Node.
		return metadata, nil
	}
	if metadata.NodeAddresses, err = v.addresses(ctx, node, details); err != nil {
		return nil, err
	}
	if s.cfg.Zones && !initialized {
		if metadata.Zone, metadata.Region, err = v.zone(ctx); err != nil {
			return nil, err
		}
	}

	return metadata, nil
}

// addresses are those of the Node, by the rules of the VM's vCenter.
func (v vm) addresses(ctx context.Context, node *v1.Node, details *inventory.Details) ([]v1.NodeAddress, error) {
	nodeIPs, err := address.ProvidedNodeIPs(node)
	if err != nil {
		return nil, instance.WithReason(instance.ReasonNoAddress, err)
	}
	static, err := staticAddresses(details.Metadata, details.MetadataEncoding)
	if err != nil {
		v.vcenter.warnings.metadata(ctx, node, err)
	}
	g := guest{id: v.UUID, hostName: v.HostName, static: static, nodeIPs: nodeIPs}
	g.nics = lists.Map(details.NICs, func(n inventory.NIC) nic {
		return nic{Network: n.Network, Addresses: n.IPs, ShortLived: n.ShortLived, DeviceConfigID: n.DeviceConfigID}
	})

	return nodeAddresses(g, v.vcenter.Rules)
}
