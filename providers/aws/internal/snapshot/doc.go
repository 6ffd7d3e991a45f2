// Package snapshot caches the reads of network load balancers that many
// Services need in shared lists, so that the cost of one Service does not
// depend on the number of load balancers and target groups of others.
//
// What it promises:
//
//   - A load balancer or target group that is returned was read at most
//     [Options.MaxAge] ago, and after the last write to it through the same
//     Snapshot.
//   - A single read requests one load balancer from AWS. If there are more of
//     them within a short time than a list has pages, they share one list.
//   - A load balancer is only reported as absent after a request for its name:
//     absence ends the work on a Service.
//   - Attributes and tags are cached for [Options.KnownAge], or until they are
//     written through the same Snapshot.
//   - A write whose outcome is not known invalidates what it may have changed.
//   - No lock is held during a call to AWS.
package snapshot
