package nodes

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// merge returns each VM once, although a vCenter with two sections finds it twice.
// The section counts whose datacenters the VM is in.
func (s *Source) merge(ctx context.Context, found []vm) []vm {
	var merged []vm
	for _, v := range found {
		i := slices.IndexFunc(merged, func(m vm) bool { return m.location() == v.location() })
		if i < 0 {
			merged = append(merged, v)

			continue
		}
		s.warnTwice(ctx, merged[i].vcenter.Name, v.vcenter.Name)
		if v.InScope && !merged[i].InScope {
			merged[i] = v
		}
	}

	return merged
}

// warnTwice logs once that two sections are of one vCenter.
func (s *Source) warnTwice(ctx context.Context, one, other string) {
	if _, warned := s.twice.LoadOrStore([2]string{one, other}, true); !warned {
		klog.FromContext(ctx).Info("Two sections of the cloud-config are of one vCenter, remove one of them or give them different datacenters",
			"section", one, "otherSection", other)
	}
}

// identity returns what is known of the Node of a Ref.
func (s *Source) identity(ctx context.Context, ref instance.Ref, q inventory.Query) identity {
	n := identity{name: ref.NodeName, label: s.labeled(ref.NodeName), assigned: s.assigned.get(keyOf(ref, q)), others: s.sharing(ref, q)}
	n.address = func(v vm) comparison { return v.hasAddress(ctx, s.addressesOf(ref.NodeName)) }

	return n
}

// choose picks the VM of a Node among those that fit, and decides how much it proves
// while a vCenter cannot report whether it has another one.
func (s *Source) choose(r response, ref instance.Ref, q inventory.Query, n identity) instance.Result {
	chosen := r.found
	if len(q.UUIDs) > 0 {
		chosen = n.pick(r.found)
	} else if len(chosen) > 1 {
		chosen = named(r.found, ref.NodeName)
	}
	doubt := r.doubt()
	if len(chosen) != 1 {
		return undecided(r.found, doubt, q, n)
	}
	v := chosen[0]
	switch proof := n.proof(v); {
	case proof == certain:
		doubt = nil
	case proof == mayBeCopy && doubt != nil:
		return instance.Failed(fmt.Errorf("%s may be a copy, and the VM of the Node in another vCenter: %w", describe(chosen), doubt))
	}
	if len(q.UUIDs) == 0 && contradicts(ref.SystemUUID, v.UUID) {
		return instance.Failed(instance.WithReason(instance.ReasonAmbiguousInstance, fmt.Errorf(
			"%s has the name of the Node but another UUID than its system UUID %s; if it is the right one, start the kubelet with --provider-id=%s: %w",
			describe(chosen), ref.SystemUUID, v.ProviderID(), apierr.ErrConflict)))
	}
	if v.UUID == "" && ref.ProviderID == "" {
		return instance.Failed(fmt.Errorf("VM %q in vCenter %s reports no UUID: %w", v.Name, v.vcenter.Name, apierr.ErrUnavailable))
	}
	v.doubt = doubt
	others := lists.Filter(r.found, func(other vm) bool { return other.location() != v.location() })
	s.assigned.assign(keyOf(ref, q), v, others, len(r.failed) == 0)
	if len(q.UUIDs) == 0 {
		return instance.FoundByName(v)
	}

	return instance.Found(v)
}

// undecided is the result if several VMs fit a Node equally well, or none is proven
// to be that of the Node.
func undecided(found []vm, doubt error, q inventory.Query, n identity) instance.Result {
	switch {
	case doubt != nil:
		return instance.Failed(doubt)
	case len(q.UUIDs) == 0, slices.ContainsFunc(found, func(v vm) bool { return !v.isOff() }):
		return instance.Failed(ambiguous(found, q, n))
	}
	off := found[0]
	off.ambiguous = ambiguous(found, q, n)

	return instance.Found(off)
}

// ambiguous is the error that several VMs or several Nodes fit.
func ambiguous(found []vm, q inventory.Query, n identity) error {
	shared := ""
	if len(n.others) > 0 {
		shared = ", which other Nodes have as well (" + strings.Join(n.others, ", ") + ")"
	}

	return instance.WithReason(instance.ReasonAmbiguousInstance, fmt.Errorf(
		"%d VMs fit %s%s, and the guest's host name is %q in %d of them: %s: %w",
		len(found), q, shared, n.name, len(named(found, n.name)), describe(found), apierr.ErrConflict))
}

// named returns the VMs whose guest has a host name.
func named(found []vm, name string) []vm {
	return lists.Filter(found, func(v vm) bool { return sameHost(v.HostName, name) })
}

// hasAddress reports whether the guest of a VM has one of the addresses.
func (v vm) hasAddress(ctx context.Context, wanted []netip.Addr) comparison {
	if len(wanted) == 0 {
		return unknown
	}
	details, err := v.vcenter.Inventory.Details(ctx, v.VM)
	if err != nil {
		return unknown
	}
	for _, n := range details.NICs {
		for _, ip := range n.IPs {
			if addr, err := address.Parse(ip); err == nil && slices.Contains(wanted, addr) {
				return agrees
			}
		}
	}

	return differs
}

// addressesOf returns the addresses that a Node has now.
func (s *Source) addressesOf(nodeName string) []netip.Addr {
	node := s.nodes.Load().Node(nodeName)
	if node == nil {
		return nil
	}
	var addrs []netip.Addr
	for _, a := range node.Status.Addresses {
		if a.Type != v1.NodeInternalIP && a.Type != v1.NodeExternalIP {
			continue
		}
		if addr, err := address.Parse(a.Address); err == nil {
			addrs = append(addrs, addr)
		}
	}

	return addrs
}

// contradicts reports whether a Node's system UUID proves that a VM found by name
// is another machine. A kubelet that cannot read the UUID of its hardware reports
// another value, which proves nothing.
func contradicts(systemUUID, uuid string) bool {
	const length = len("00000000-0000-0000-0000-000000000000")
	system := strings.ToLower(strings.TrimSpace(systemUUID))

	return len(system) == length && uuid != "" && uuid != system && uuid != swapUUID(system)
}

// describe lists VMs for a message, in a stable order.
func describe(found []vm) string {
	names := lists.Map(found, func(v vm) string { return fmt.Sprintf("%q (%s) in vCenter %s", v.Name, v.Ref.Value, v.vcenter.Name) })
	slices.Sort(names)

	return strings.Join(names, ", ")
}
