// Package inventory has the virtual machines of one vCenter, and the tree of
// folders, hosts, pools and datacenters around them. One change feed of the
// property collector keeps that knowledge current, so that looking up a VM
// costs no call at all. The package does not depend on Kubernetes.
//
// What it promises:
//
//   - [Inventory.Find] makes no call. It reports that there is no such VM
//     only while the feed is connected and current, every configured datacenter
//     is there, and no VM could be the one without our knowing it. In all other
//     cases a miss is an error.
//   - [Inventory.Confirm] queries the vCenter itself. It reports that there is
//     no such VM only if in addition every search has responded and every VM
//     that once was it has been deleted. A VM whose datastore is lost, or that
//     was moved out of reach, is never gone.
//   - A UUID once seen is kept, even when the vCenter cannot read it any more.
//   - The first pages of a feed are no inventory: until the last one is there,
//     nothing that was known before counts as gone, and a VM that they have may be
//     a copy of another one. Confirm finds all VMs with a UUID meanwhile.
//   - [Inventory.Details] reads what only the VM of a Node is needed for: that of
//     up to 1,000 Nodes in one call, and no more than seconds old. What cannot be
//     read is an error of its VM.
//   - After any failure the feed starts over by itself, with back-off. Every
//     call has a deadline, so that a vCenter that stopped responding is
//     noticed.
//   - No lock is held during a call. Whatever is returned is never changed
//     again, and must not be changed by the receiver either.
//   - [Inventory.Absence] returns since when a VM has been missing, and what
//     proof there is that the vCenter is the one of the cluster.
//   - When another vCenter responds at the address, all data is dropped.
//   - Templates and the secondaries of Fault Tolerance groups are not found.
//   - A VM takes less than 1 KiB, whatever its guest reports. Of the VMs that were
//     queried by UUID, a fixed number have a tombstone after they left the vCenter.
package inventory
