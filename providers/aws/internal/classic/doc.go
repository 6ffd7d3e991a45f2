// Package classic makes classic load balancers, with their listeners, policies
// and instances.
//
// What it promises: names, tags and defaults are those of all AWS cloud
// controller managers, so that existing load balancers stay in use; nothing is
// written when nothing has changed; whatever an interrupted run left behind is
// used by the next one; nothing is changed that has only the tag of another
// cluster.
//
// One Service port is one listener, and all of them share the instances:
//
//	load balancer ── listener 80/HTTP  ── 30080/HTTP ┬─ i-1
//	              └─ listener 443/SSL  ── 30443/TCP  └─ i-2
//
// Policies belong to the load balancer and have names. Listeners use one for
// TLS, instance ports one for the PROXY protocol.
package classic
