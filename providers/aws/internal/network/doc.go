// Package network makes network load balancers, with their listeners, target
// groups and targets.
//
// What it promises: names, tags and defaults are those of all AWS cloud
// controller managers, so that existing load balancers stay in use; nothing is
// written when nothing has changed; whatever an interrupted run left behind is
// used or removed by the next one; nothing is changed that has only the tag
// of another cluster.
//
// A load balancer and its parts:
//
//	load balancer ── listener 80/TCP ──forward── target group ── i-1:30080
//	              │                                           └─ i-2:30080
//	              └─ listener 443/TLS ─forward── target group ── …
//
// One Service port is one listener and one target group. A target group is kept
// as long as what cannot be changed about it is right: node port, protocol, and
// the protocol and interval of its health check, which its name is made of.
// Otherwise a new one replaces it, and the listener moves before the old one
// goes. A listener changes its protocol and certificate in place.
//
// What AWS rejects about one port or one target costs that port or target alone.
package network
