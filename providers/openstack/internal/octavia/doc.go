// Package octavia manages the load balancers of Services in Octavia, with their
// listeners, pools, members and health monitors.
//
//	Read                    what exists
//	Build                   what is wanted
//	Create                  a new load balancer, with all its parts or empty
//	Diff                    the parts of one that exists
//	Claim, Release, Rename  names and tags of one that several Services may use
//	DiffDelete, Delete      the parts of a Service, or everything
//
// A load balancer and its parts:
//
//	load balancer ── listener TCP/80 ── pool TCP ── member node-1 10.0.0.5:30080
//	              │                             └─ health monitor
//	              └─ listener UDP/53 ── pool UDP ── …
//
// What it promises: names and texts are those of the existing cloud controller manager;
// nothing is written when nothing has changed; what serves is replaced before it is
// removed, wherever Octavia permits it; the next run completes or removes whatever an
// interrupted run left behind; parts of other Services and of users stay as they are, and
// so do settings that a Service does not have.
//
// A pool keeps its protocol: another one is built beside it, and the listener moves. A
// listener keeps its protocol and port, and Octavia permits no second one on the port
// (https://docs.openstack.org/api-ref/load-balancer/v2/#create-listener): it is deleted
// and created once its pool is there, and the old one is created again if the new one is
// refused.
//
// If Octavia refuses a port, a member or an option, only that one is affected.
//
// When not to use it: to decide whether a load balancer belongs to a Service, which package
// certainty does.
package octavia
