// Package targets chooses the Nodes behind a load balancer in a cluster that has more of them than
// it needs, or than the cloud permits. With externalTrafficPolicy Cluster any Node serves, so that a
// part of them is enough, and a Node that joins costs no call.
//
// Which Nodes are chosen follows from the Service, the Nodes and what serves already, so that every
// process chooses the same ones. Nodes are ranked by rendezvous hashing of the UID of the Service and
// their provider IDs: https://en.wikipedia.org/wiki/Rendezvous_hashing.
package targets
