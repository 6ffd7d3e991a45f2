// Package snapshot serves the reads about network load balancers that many
// Services need from shared lists, so that what one Service costs does not
// depend on how many load balancers and target groups others have.
//
// What it promises:
//
//   - A load balancer or target group that is returned was read at most
//     [Options.MaxAge] ago, and after the last write to it through the same
//     Snapshot.
//   - A single read requests one load balancer from AWS. As soon as there are
//     more of them within a short time than a list has pages, they share one
//     list.
//   - That a load balancer is absent is only returned when it was requested
//     from AWS by name: absence ends the work on a Service.
//   - Attributes and tags are kept for [Options.KnownAge], or until they are
//     written through the same Snapshot.
//   - A write whose outcome is not known invalidates what it may have changed.
//   - No lock is held during a call to AWS.
package snapshot
