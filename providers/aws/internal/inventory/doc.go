// Package inventory finds the EC2 instances of the cluster.
//
// What it promises: that of package snapshot, with instances as its objects and
// their private DNS names as aliases. One wrong ID does not fail the call for the
// others.
//
// The list has the living instances that carry the tag of the cluster. Others
// (without the tag, terminated, never existed) are described by ID; that one is
// missing is kept for a while, so that a deleted instance costs nothing. Nothing
// of this proves that an instance is gone: [Inventory.Confirm] does.
package inventory
