// Package inventory finds the servers of the cluster, and reads what else their Nodes
// need: ports, flavors, names of networks.
//
// What it promises:
//
//   - All servers of the project are listed in one go, and so are all ports. However
//     many Nodes there are, and however many callers: a list is read once while it is
//     younger than [Config].MaxAge. Servers of the project that are no Nodes cost pages.
//   - What a list shows exists. What it lacks is not known to be missing: [Inventory.Confirm]
//     reads that server alone.
//   - A server is shut down only if it was read alone.
//   - At most [certainty.MaxConfirmations] servers are read alone in one
//     [certainty.Pass] to confirm that they are missing, and as many that are shut down.
//     All of them are read in the course of time.
//   - Every row is checked, see package certainty, which decides what it proves.
//   - If a page of the list fails, the servers of the pages before are used, and those
//     that are not among them are read alone, as many in a pass.
package inventory
