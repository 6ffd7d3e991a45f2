// Package classic manages classic load balancers, with their listeners,
// policies and instances.
//
// What it promises: names, tags and defaults are compatible with all AWS cloud
// controller managers, so that existing load balancers stay in use; nothing is
// written when nothing has changed; the next run reuses whatever an interrupted
// run left behind; a resource that has only the tag of another cluster is not
// changed.
//
// One Service port is one listener, and all of them share the instances:
//
//	load balancer ── listener 80/HTTP  ── 30080/HTTP ┬─ i-1
//	              └─ listener 443/SSL  ── 30443/TCP  └─ i-2
//
// Policies belong to the load balancer and have names. Listeners use one for
// TLS, instance ports one for the PROXY protocol.
package classic
