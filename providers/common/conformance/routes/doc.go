// Package routes is the conformance suite for routes: every provider that has them
// must pass it over its test cloud.
//
// What it promises: the provider implements Routes as the route controller needs
// it. Each pod range is routed to its node, routes of nodes and instances that are
// gone are listed and deleted, routes of others stay as they are, and a call that
// ended at any of its cloud calls is completed or cleaned up by the next process.
//
// The adapter must bring a [Cloud]:
//
//	routes.Run(t, routes.Adapter{
//		Provider: "aws",
//		NewCloud: newCloud,
//		Budget:   routes.Budget{List: 2, Create: 3},
//	})
//
// It does not check that packets arrive: the test cloud reports where a route
// leads.
package routes
