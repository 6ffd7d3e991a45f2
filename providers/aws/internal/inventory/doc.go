// Package inventory finds the EC2 instances of the cluster.
//
// What it promises: the same as package snapshot, with instances as its objects
// and their private DNS names as aliases. One invalid ID does not fail the call
// for the others.
//
// The list contains the living instances with the tag of the cluster. Others
// (without the tag, terminated, never existed) are described by ID. A missing
// one is cached for a while, so that a deleted instance costs no calls. None of
// this proves that an instance is gone: [Inventory.Confirm] does.
package inventory
