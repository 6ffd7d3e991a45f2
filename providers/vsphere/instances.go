package vsphere

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	listersv1 "k8s.io/client-go/listers/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// firstSyncGrace is how long after the start a miss waits for vCenters that
// have not reported their inventory yet.
const firstSyncGrace = 5 * time.Second

// source answers for the VMs of all configured vCenters.
type source struct {
	// zones tells whether Nodes get a zone or a region at all.
	zones  bool
	labels map[string]string
	// started holds the vCenters, from when there are any.
	started atomic.Pointer[start]
	// nodes lists the Nodes of the cluster, from when the informer is known.
	nodes atomic.Pointer[listersv1.NodeLister]
}

var _ instance.Source = (*source)(nil)

// start is what the provider works with once it is initialised.
type start struct {
	vcenters []*vcenter
	at       time.Time
}

func newSource(cfg *Config, labels map[string]string) *source {
	return &source{zones: cfg.Labels.Zone != "" || cfg.Labels.Region != "", labels: labels}
}

// setNodes gives the source the Nodes of the cluster.
func (s *source) setNodes(nodes listersv1.NodeLister) { s.nodes.Store(&nodes) }

// wanted lists the queries that find the VMs of all Nodes: what one Node's VM is
// read for is read for all of them in the same call.
func (s *source) wanted() []inventory.Query {
	lister := s.nodes.Load()
	if lister == nil {
		return nil
	}
	nodes, err := (*lister).List(labels.Everything())
	if err != nil {
		return nil // each Node still has its own turn
	}
	var wanted []inventory.Query
	for _, node := range nodes {
		list, err := queries(instance.Ref{
			ProviderID: node.Spec.ProviderID, SystemUUID: node.Status.NodeInfo.SystemUUID, NodeName: node.Name,
		})
		if err != nil {
			continue // a Node of another provider
		}
		wanted = append(wanted, list...)
	}
	return wanted
}

// start gives the source its vCenters.
func (s *source) start(vcenters []*vcenter) {
	s.started.Store(&start{vcenters: vcenters, at: time.Now()})
}

// places are the vCenters to ask. Before there are any, nothing is known.
func (s *source) places() ([]*vcenter, error) {
	if started := s.started.Load(); started != nil && len(started.vcenters) > 0 {
		return started.vcenters, nil
	}
	return nil, fmt.Errorf("the vSphere provider has not started: %w", apierr.ErrUnavailable)
}

// vm is an instance.Instance: a VM with the vCenter that has it.
type vm struct {
	*inventory.VM
	vcenter *vcenter
	// current tells that the power state is not older than a change feed that
	// works can make it.
	current bool
}

// ProviderID is empty for a VM that never told its UUID; no Node gets such a VM.
func (v vm) ProviderID() string { return formatProviderID(v.UUID) }

// State is Unknown unless the vCenter sees the VM: one whose host or storage is
// out of reach may well be running.
func (v vm) State() instance.State {
	switch {
	case !v.current:
		return instance.Unknown
	case v.Power == types.VirtualMachinePowerStatePoweredOn:
		return instance.Running
	case v.Connection != types.VirtualMachineConnectionStateConnected:
		return instance.Unknown
	case v.Power == types.VirtualMachinePowerStatePoweredOff, v.Power == types.VirtualMachinePowerStateSuspended:
		return instance.Stopped
	}
	return instance.Unknown
}

// Accepts implements instance.Source.
func (s *source) Accepts(providerID string) error {
	_, err := parseProviderID(providerID)
	return err
}

// Lookup implements instance.Source from the change feeds, without any call.
func (s *source) Lookup(ctx context.Context, refs []instance.Ref) []instance.Result {
	results := make([]instance.Result, len(refs))
	for i, ref := range refs {
		results[i] = s.find(ctx, ref)
	}
	return results
}

func (s *source) find(ctx context.Context, ref instance.Ref) instance.Result {
	vcenters, err := s.places()
	if err != nil {
		return instance.Failed(err)
	}
	inMemory := func(vc *vcenter, q inventory.Query) ([]vm, error) { return vc.find(q) }
	result := search(vcenters, ref, inMemory)
	if _, err := result.Get(); err == nil || !s.awaitFirstSync(ctx, vcenters) {
		return result
	}
	return search(vcenters, ref, inMemory)
}

// awaitFirstSync waits, for a short time after the start, for inventories that
// are being read for the first time. It tells whether it waited: the answer can
// be another one now.
func (s *source) awaitFirstSync(ctx context.Context, vcenters []*vcenter) bool {
	grace, cancel := context.WithDeadline(ctx, s.started.Load().at.Add(firstSyncGrace))
	defer cancel()
	waited := false
	for _, vc := range vcenters {
		status := vc.inventory.Status()
		if status.Synced || status.Err != nil || grace.Err() != nil {
			continue
		}
		waited = true
		_ = vc.inventory.WaitSynced(grace) // what is not synced then is an error in the answer
	}
	return waited
}

// Confirm implements instance.Source by asking every vCenter.
func (s *source) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	vcenters, err := s.places()
	if err != nil {
		return instance.Failed(err)
	}
	return search(vcenters, ref, func(vc *vcenter, q inventory.Query) ([]vm, error) { return vc.confirm(ctx, q) })
}

// search puts the questions of a Ref to all vCenters, in order of certainty,
// until one is answered:
//
//	found once                          that VM
//	found several times                 the one whose guest has the Node's name
//	found nowhere, a vCenter is silent  its error
//	found nowhere                       the next question; absent after the last
func search(vcenters []*vcenter, ref instance.Ref, ask func(*vcenter, inventory.Query) ([]vm, error)) instance.Result {
	questions, err := queries(ref)
	if err != nil {
		return instance.Failed(err)
	}
	for _, q := range questions {
		found, err := askAll(vcenters, q, ask)
		switch {
		case len(found) > 0:
			return choose(found, ref, q)
		case errors.Is(err, inventory.ErrUnreadableVM):
			return instance.Failed(instance.WithReason(instance.ReasonInstanceNotFound, err))
		case err != nil:
			return instance.Failed(err)
		}
	}
	return instance.Absent()
}

// queries are the questions that find a Ref's VM. The UUID that a guest reports
// can be in either byte order; the name counts only where the Node has no
// provider ID.
func queries(ref instance.Ref) ([]inventory.Query, error) {
	if ref.ProviderID != "" {
		uuid, err := parseProviderID(ref.ProviderID)
		if err != nil {
			return nil, err
		}
		return []inventory.Query{{UUIDs: []string{uuid, swapUUID(uuid)}}}, nil
	}
	var list []inventory.Query
	if uuid := strings.ToLower(strings.TrimSpace(ref.SystemUUID)); uuid != "" {
		list = append(list, inventory.Query{UUIDs: []string{swapUUID(uuid), uuid}})
	}
	return append(list, inventory.Query{Names: []string{ref.NodeName}}), nil
}

// askAll asks all vCenters at once, so that a slow one delays only what it
// alone can answer.
func askAll(vcenters []*vcenter, q inventory.Query, ask func(*vcenter, inventory.Query) ([]vm, error)) ([]vm, error) {
	found := make([][]vm, len(vcenters))
	errs := make([]error, len(vcenters))
	var all sync.WaitGroup
	for i, vc := range vcenters {
		all.Go(func() { found[i], errs[i] = ask(vc, q) })
	}
	all.Wait()
	return slices.Concat(found...), errors.Join(errs...)
}

// choose picks the VM of a Ref among those that answer a question. Clones share
// a UUID: then the guest's name decides, or nothing does.
func choose(found []vm, ref instance.Ref, q inventory.Query) instance.Result {
	if len(found) > 1 {
		named := slices.DeleteFunc(slices.Clone(found), func(v vm) bool { return !sameHost(v.HostName, ref.NodeName) })
		if len(named) != 1 {
			return instance.Failed(instance.WithReason(instance.ReasonAmbiguousInstance, fmt.Errorf(
				"%d VMs fit %s, and the guest's host name is %q in %d of them: %s: %w",
				len(found), q, ref.NodeName, len(named), describe(found), apierr.ErrConflict)))
		}
		found = named
	}
	if len(q.UUIDs) == 0 && contradicts(ref.SystemUUID, found[0].UUID) {
		return instance.Failed(instance.WithReason(instance.ReasonAmbiguousInstance, fmt.Errorf(
			"%s has the name of the Node but another UUID than its system UUID %s; if it is the right one, start the kubelet with --provider-id=%s: %w",
			describe(found), ref.SystemUUID, found[0].ProviderID(), apierr.ErrConflict)))
	}
	if found[0].UUID == "" && ref.ProviderID == "" {
		return instance.Failed(fmt.Errorf("VM %q in vCenter %s reports no UUID: %w", found[0].Name, found[0].vcenter.name, apierr.ErrUnavailable))
	}
	if len(q.UUIDs) == 0 {
		return instance.FoundByName(found[0])
	}
	return instance.Found(found[0])
}

// contradicts tells whether a Node's system UUID says that a VM found by name is
// another machine. A kubelet that cannot read the UUID of its hardware reports
// something else in its place, which says nothing.
func contradicts(systemUUID, uuid string) bool {
	const length = len("00000000-0000-0000-0000-000000000000")
	system := strings.ToLower(strings.TrimSpace(systemUUID))
	return len(system) == length && uuid != "" && uuid != system && uuid != swapUUID(system)
}

// sameHost compares host names without regard to case, and without the domain
// where one of them has none.
func sameHost(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	aShort, aDomain, _ := strings.Cut(a, ".")
	bShort, bDomain, _ := strings.Cut(b, ".")
	return a == b || aShort != "" && aShort == bShort && (aDomain == "" || bDomain == "")
}

// describe lists VMs for a message, in a stable order.
func describe(found []vm) string {
	names := make([]string, len(found))
	for i, v := range found {
		names[i] = fmt.Sprintf("%q (%s) in vCenter %s", v.Name, v.Ref.Value, v.vcenter.name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Metadata implements instance.Source. Type, zone and region are labels, which
// the framework writes only when it initialises a Node; afterwards addresses
// are all that counts, and tags are not asked for.
func (s *source) Metadata(ctx context.Context, node *v1.Node, found instance.Instance) (*cloudprovider.InstanceMetadata, error) {
	v, ok := found.(vm)
	if !ok {
		return nil, fmt.Errorf("instance is a %T, not a VM", found)
	}
	initialised := instance.Initialised(node)
	if !initialised && !v.current {
		// Labels are written once and never corrected.
		return nil, fmt.Errorf("what is known of VM %q is out of date, vCenter %s does not answer: %w", v.Name, v.vcenter.name, apierr.ErrUnavailable)
	}
	details, err := v.vcenter.inventory.Details(ctx, v.VM)
	if err != nil {
		return nil, err
	}
	metadata := &cloudprovider.InstanceMetadata{
		ProviderID:       v.ProviderID(),
		InstanceType:     instanceType(details),
		AdditionalLabels: s.labels,
	}
	if initialised && v.Power != types.VirtualMachinePowerStatePoweredOn {
		// The tools report nothing; the addresses it had stay on the Node.
		return metadata, nil
	}
	if metadata.NodeAddresses, err = v.addresses(ctx, node, details); err != nil {
		return nil, err
	}
	if s.zones && !initialised {
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
		klog.FromContext(ctx).V(4).Info("Ignoring network settings of VM that cannot be read", "node", klog.KObj(node), "vm", v.Name, "err", err)
	}
	g := guest{id: v.UUID, hostName: v.HostName, static: static, nodeIPs: nodeIPs}
	for _, n := range details.NICs {
		g.nics = append(g.nics, nic{Network: n.Network, Addresses: n.IPs, ShortLived: n.ShortLived, DeviceConfigID: n.DeviceConfigID})
	}
	return nodeAddresses(g, v.vcenter.rules)
}
