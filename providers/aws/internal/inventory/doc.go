// Package inventory knows the EC2 instances of the cluster.
//
// What it promises: many questions of all callers cost few calls; an answer
// is never older than the question allows; an instance that is not there is told
// apart from an answer that did not come; one wrong ID disturbs no other.
//
// How a question is answered, in this order:
//
//	known already, and not too old     from memory
//	the first few questions            DescribeInstances by a filter of IDs or
//	                                   names, all that came together at once
//	more of them soon after            DescribeInstances of the whole cluster
//	what that does not list            by a filter of IDs or names, as above
//
// The list has the living instances that carry the tag of the cluster. Others
// (without the tag, terminated, never existed) are asked for by ID; that one is
// missing is remembered for a while, so that a dead node costs nothing. Nothing
// of this says that an instance is gone: [Inventory.Confirm] does.
package inventory
