// Package inventory finds the servers of the cluster, and reads what else their Nodes
// need: ports, flavors, names of networks.
//
// A server is found by one of two ways, which the caller chooses:
//
//	Read, ReadByName    a request for this server alone, for few Nodes
//	Find, FindByName    the list of all servers of the project, for many
//
// What it promises:
//
//   - However many callers there are, a list is read once while it counts: for
//     [Config].MaxAge, or for twice the time that it took. It goes on when its callers
//     have left, has no deadline over all its pages, and no caller waits for it longer than
//     [Config].ListWait. One that is late, or that failed, is replaced by requests for single
//     servers. The same applies to the list of all ports.
//   - What a list shows exists. What it lacks is not known to be missing: [Inventory.Confirm]
//     reads that server alone.
//   - A server is shut down only if it was read alone.
//   - Every row is checked, see package certainty, which decides what it proves.
package inventory
