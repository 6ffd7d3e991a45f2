// Package network manages network load balancers, with their listeners, target
// groups and targets.
//
// What it promises: names, tags and defaults are compatible with all AWS cloud
// controller managers, so that existing load balancers stay in use; nothing is
// written when nothing has changed; the next run reuses or removes whatever an
// interrupted run left behind; a resource that has only the tag of another
// cluster is not changed.
//
// A load balancer and its parts:
//
//	load balancer ── listener 80/TCP ──forward── target group ── i-1:30080
//	              │                                           └─ i-2:30080
//	              └─ listener 443/TLS ─forward── target group ── …
//
// One Service port is one listener and one target group. A target group is kept
// as long as its immutable settings match: node port, protocol, and the
// protocol and interval of its health check, which its name is derived from.
// Otherwise a new one replaces it, and the listener moves before the old one is
// deleted. A listener changes its protocol and certificate in place.
//
// If AWS rejects one port or one target, only that port or target is affected.
package network
