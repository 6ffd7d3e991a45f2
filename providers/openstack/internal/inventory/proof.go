package inventory

import (
	"context"
	"time"
)

// Proof is what proves that the credentials lead to the project and the region of the
// cluster.
type Proof struct {
	// Other is when the server of a Node was found last, the zero time if none was.
	Other time.Time
	// Servers is how many Nodes have a server. Known is whether the Nodes are known.
	Servers int
	Known   bool
	Now     time.Time
}

// Prove returns when the server of a Node was found, with a few requests.
func (i *Inventory) Prove(ctx context.Context) Proof {
	nodes, known := i.config.Nodes()

	return Proof{Other: i.other(ctx, ""), Servers: len(nodes), Known: known, Now: i.now()}
}
