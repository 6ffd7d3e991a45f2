package vsphere

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
func (s *source) merge(ctx context.Context, found []vm) []vm {
	var merged []vm
	for _, v := range found {
		i := slices.IndexFunc(merged, func(m vm) bool { return m.location() == v.location() })
		if i < 0 {
			merged = append(merged, v)

			continue
		}
		s.warnTwice(ctx, merged[i].vcenter.name, v.vcenter.name)
		if v.InScope && !merged[i].InScope {
			merged[i] = v
		}
	}

	return merged
}

// warnTwice logs once that two sections are of one vCenter.
func (s *source) warnTwice(ctx context.Context, one, other string) {
	if _, warned := s.twice.LoadOrStore([2]string{one, other}, true); !warned {
		klog.FromContext(ctx).Info("Two sections of the cloud-config are of one vCenter, remove one of them or give them different datacenters",
			"section", one, "otherSection", other)
	}
}

// choose picks the VM of a Ref among those that fit. Copies of a VM have its UUID:
//
//	VM that ran as the only one of its UUID   that one
//	one with the Node's host name             that one; of several, the one that runs
//	one that runs                             that one, unless its guest has another name
//	several that run                          the one with an address of the Node
//	all are off                               any of them, to report that the Node is shut down
//
// While a vCenter cannot report whether it has another one, only a VM that is
// confirmed is picked, and whether it is off is unknown unless it is that of the
// first line.
func (s *source) choose(ctx context.Context, r response, ref instance.Ref, q inventory.Query) instance.Result {
	chosen := r.found
	if len(chosen) > 1 && len(q.UUIDs) > 0 {
		chosen = s.original(ctx, r.found, ref, q)
	} else if len(chosen) > 1 {
		chosen = named(r.found, ref.NodeName)
	}
	doubt := r.doubt()
	if len(chosen) != 1 {
		return undecided(r.found, doubt, ref, q)
	}
	v := chosen[0]
	if s.assigned.get(q).surely(v) {
		doubt = nil
	}
	if doubt != nil && !s.confirmed(v, ref, q) {
		return instance.Failed(fmt.Errorf("%s may be a copy, and the VM of the Node in another vCenter: %w", describe(chosen), doubt))
	}
	if len(q.UUIDs) == 0 && contradicts(ref.SystemUUID, v.UUID) {
		return instance.Failed(instance.WithReason(instance.ReasonAmbiguousInstance, fmt.Errorf(
			"%s has the name of the Node but another UUID than its system UUID %s; if it is the right one, start the kubelet with --provider-id=%s: %w",
			describe(chosen), ref.SystemUUID, v.ProviderID(), apierr.ErrConflict)))
	}
	if v.UUID == "" && ref.ProviderID == "" {
		return instance.Failed(fmt.Errorf("VM %q in vCenter %s reports no UUID: %w", v.Name, v.vcenter.name, apierr.ErrUnavailable))
	}
	v.doubt = doubt
	others := slices.DeleteFunc(slices.Clone(r.found), func(other vm) bool { return other.location() == v.location() })
	s.assigned.assign(q, v, others, len(r.errs) == 0)
	if len(q.UUIDs) == 0 {
		return instance.FoundByName(v)
	}

	return instance.Found(v)
}

// confirmed reports whether a VM is that of a Node although another vCenter may have
// a VM that fits: it was before, it is in the vCenter that the Node names, or its
// guest has the name of the Node.
func (s *source) confirmed(v vm, ref instance.Ref, q inventory.Query) bool {
	return s.assigned.get(q).at == v.location() || s.labeled(ref.NodeName) == v.vcenter.id() || sameHost(v.HostName, ref.NodeName)
}

// undecided is the result if several VMs fit a Ref equally well.
func undecided(found []vm, doubt error, ref instance.Ref, q inventory.Query) instance.Result {
	switch {
	case doubt != nil:
		return instance.Failed(doubt)
	case len(q.UUIDs) == 0, slices.ContainsFunc(found, func(v vm) bool { return !v.isOff() }):
		return instance.Failed(ambiguous(found, ref, q))
	}
	off := found[0]
	off.ambiguous = ambiguous(found, ref, q)

	return instance.Found(off)
}

// ambiguous is the error that several VMs fit a Ref.
func ambiguous(found []vm, ref instance.Ref, q inventory.Query) error {
	return instance.WithReason(instance.ReasonAmbiguousInstance, fmt.Errorf(
		"%d VMs fit %s, and the guest's host name is %q in %d of them: %s: %w",
		len(found), q, ref.NodeName, len(named(found, ref.NodeName)), describe(found), apierr.ErrConflict))
}

// original returns the VM among its copies, or those that it can be.
func (s *source) original(ctx context.Context, found []vm, ref instance.Ref, q inventory.Query) []vm {
	as := s.assigned.get(q)
	if as.sure && as.has(found) {
		return slices.DeleteFunc(slices.Clone(found), func(v vm) bool { return v.location() != as.at })
	}
	candidates := slices.DeleteFunc(slices.Clone(found), func(v vm) bool {
		return v.HostName != "" && !sameHost(v.HostName, ref.NodeName)
	})
	if len(candidates) == 0 {
		candidates = found
	}
	for _, narrow := range []func([]vm) []vm{
		func(from []vm) []vm { return named(from, ref.NodeName) },
		func(from []vm) []vm {
			return slices.DeleteFunc(slices.Clone(from), func(v vm) bool { return !v.runs() })
		},
		func(from []vm) []vm { return s.withAddress(ctx, from, ref.NodeName) },
	} {
		if len(candidates) == 1 {
			break
		}
		if fewer := narrow(candidates); len(fewer) > 0 {
			candidates = fewer
		}
	}

	return candidates
}

// named returns the VMs whose guest has a host name.
func named(found []vm, name string) []vm {
	return slices.DeleteFunc(slices.Clone(found), func(v vm) bool { return !sameHost(v.HostName, name) })
}

// withAddress returns the VMs whose guest has an address of the Node.
func (s *source) withAddress(ctx context.Context, found []vm, nodeName string) []vm {
	wanted := s.addressesOf(nodeName)
	if len(wanted) == 0 {
		return nil
	}

	return slices.DeleteFunc(slices.Clone(found), func(v vm) bool {
		details, err := v.vcenter.inventory.Details(ctx, v.VM)
		if err != nil {
			return false // it can be the one
		}

		return !slices.ContainsFunc(details.NICs, func(n inventory.NIC) bool {
			return slices.ContainsFunc(n.IPs, func(ip string) bool {
				addr, err := address.Parse(ip)

				return err == nil && slices.Contains(wanted, addr)
			})
		})
	})
}

// addressesOf returns the addresses that a Node has now.
func (s *source) addressesOf(nodeName string) []netip.Addr {
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
	names := lists.Map(found, func(v vm) string { return fmt.Sprintf("%q (%s) in vCenter %s", v.Name, v.Ref.Value, v.vcenter.name) })
	slices.Sort(names)

	return strings.Join(names, ", ")
}
