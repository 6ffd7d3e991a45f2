// Package snapshot reads the load balancers of many Services in lists that they share, so
// that a Service for which nothing is to be done costs no call of its own.
//
// Six lists have everything but members: load balancers, listeners, pools, health monitors,
// floating IPs and security groups. The pools have the IDs of their members, whose address
// and port never change. Members that are not known are read by one status tree for each
// load balancer, which has no monitor ports:
// https://docs.openstack.org/api-ref/load-balancer/v2/#get-the-load-balancer-status-tree.
//
// What it promises:
//
//   - Whatever it returns began to be read at most [Options.MaxAge] before the call, or
//     during it. Callers at the same time share each list.
//   - A load balancer that this process has written is not returned from a list that began
//     before, nor within [Options.Settle]: a node of the database may not have the write
//     yet (https://galeracluster.com/library/kb/read-after-write.html).
//   - A load balancer that is not in the lists is no result, and never one that does not
//     exist. Lists that fail in part are errors.
//   - Members of all pools are read in full again after [Options.FullLook].
//   - Load balancers that nothing is requested for cost pages of lists, and no calls.
//   - No lock is held during a call, except by callers for the same load balancer.
//
// When not to use it: to decide about a change other than an addition. A caller that
// writes reads its load balancer alone.
package snapshot
