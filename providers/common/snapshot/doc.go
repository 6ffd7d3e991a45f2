// Package snapshot serves queries about many objects of one kind, such as the
// servers of a project, from few calls to a cloud that has no feed of changes.
//
// What it promises:
//
//   - Many queries of all callers cost few calls, and no result is older than
//     [Options.MaxAge] since its list or call ended, or [Options.MissingAge] for an object that is missing.
//   - An object that is missing is distinguished from one that could not be read.
//     The list proves only what exists: what it lacks is read by key or alias.
//   - A list delays a query by 5 seconds at most, and lookups of single objects do not wait for
//     one another. Queries for sets of objects are served one at a time; those that wait for
//     one which fails share its error. Each waits no longer than its own context allows.
//   - What was read last counts: an object that was read alone after the list hides
//     that of the list.
//   - The size is bounded, and no lock is held during a call.
//
// How a query is served, in this order:
//
//	known already, and not too old     from the store
//	the first few                      by key or alias, all that came together in
//	                                   one call
//	more of them soon after            from a list of all objects
//	what that does not have            by key or alias, as above
//
// If the list takes longer than 5 seconds, or fails, objects are read by key or alias,
// without those that it had. One that is late goes on, and counts when it ends.
//
// That an object is missing here is no proof that it is gone. For that it must be
// read for this very query, see [Snapshot.Confirm].
//
// When not to use it: see package batch where there is no list, or nothing is to be
// kept; package cache where each key is read alone, or a list as a whole is all that
// is needed; package flight for one call that several callers wait for. Where own
// writes must be seen, none of them is enough.
package snapshot
