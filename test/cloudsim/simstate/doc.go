// Package simstate has the parts of the state of a simulated cloud that are the same in
// every cloud:
//
//	RateLimits   token buckets by name, of which a call takes a token each or none
//	Consistency  how long reads do not see a new object
//	Schedule     changes that happen after a delay
//	Requests     the latest requests, for tests that look at what was sent
//	IDs          IDs that look random and are the same in every run
//	CloneMap     copies of objects, for snapshots that tests restore
//
// A cloud guards them with the lock that makes its operations atomic, except for
// Requests, which has its own. Times are those of the cloud's clock and passed in.
//
// What an object is, which limits a cloud documents and what a call does belong to the
// package of that cloud; what happens between a client and the cloud, such as lost
// responses, belongs to package simserver.
package simstate
