// Package floatingip manages the floating IP of the load balancer of a Service.
//
//	Observe, From   the floating IP on the VIP port
//	Build           what the Service wants
//	Check           what must be an error before anything is written
//	Diff            how to get there
//	DiffDelete      what is deleted after the load balancer
//	Remaining       what an earlier run could not delete
//	Address         the address to publish
//
// The rules are:
//
//	VIP       Service   present        then
//	IPv6      external  any            it stays as it is, the address is the VIP
//	IPv4      internal  ours           deleted, or disassociated if it is to be kept
//	IPv4      internal  of a user      disassociated
//	IPv4      external  any            used
//	IPv4      external  none, kept     the VIP stays the address, unless the user names a network, a subnet or an address
//	IPv4      external  none, shared   error: only the Service that owns the load balancer makes one
//	IPv4      external  none           an existing one with the wanted address, a new one otherwise
//
// Kept is a VIP that was published before: a floating IP would be another address.
//
// What it promises: a floating IP that a user made is never deleted; one is never taken
// from another port; a creation whose response is lost is not repeated, the next run
// finds the floating IP by its port.
//
// When not to use it: for floating IPs of servers.
package floatingip
