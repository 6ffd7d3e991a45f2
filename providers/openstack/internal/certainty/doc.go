// Package certainty decides what responses of OpenStack prove: that the server of a
// Node is gone, that it exists, that it is shut down, or which server has the name of
// a Node; that a load balancer is absent; and which load balancers, parts of them,
// floating IPs and security groups belong to a Service. It is the only place where that
// is decided.
//
// All of it is pure: values in, a verdict out. No call, no clock, no context.
//
// What it promises: whatever is not proven is [Uncertain], with a reason, and never
// [Gone] or [Absent], and whatever is not proven to belong to a Service does not. The zero
// value of every input proves nothing.
//
// # When a server is gone
//
// Nova itself must have responded with 404 to a GET of this server alone; a list
// proves nothing, since servers of a cell that is down are left out of it. Such a 404
// is not enough either: the servers of another project get the same, and so do living
// ones whose cell mapping is missing during an upgrade (nova: compute/api.py,
// _get_instance). The first line that fits decides:
//
//	the ID is no UUID, another region, no project      uncertain
//	the GET got anything but Nova's own 404            uncertain
//	the actions contain "delete", and no later         gone, whatever the age of the Node
//	"restore"
//	the actions could not be read                      uncertain
//	no server of another Node was found for 30 s       uncertain
//	no actions are recorded                            after 13 minutes
//	many servers are missing at once                   after 13 minutes
//	otherwise                                          absent
//
// Many is more than three and more than a tenth of the Nodes. "After 13 minutes" means
// that for 13 minutes Nova's 404 was all that a GET got about the server, while the servers
// of other Nodes were found: [Kept] until then, [Absent] afterwards. Time in which no other
// server was found does not count.
//
// The actions are those of os-instance-actions, which has those of deleted servers
// since microversion 2.21. A server that is deleted while its host is down has actions,
// but none called delete (nova: compute/api.py, _delete). None are recorded if they
// were archived, which takes an operator some days, and for a server whose mapping is
// missing: these two cannot be distinguished, so that such a server is always given
// the time that an upgrade may take. Where a policy denies the actions, or Nova has
// none, the server of another Node must do.
package certainty
