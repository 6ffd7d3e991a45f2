// Package simserver is the part that every simulated cloud has in common: the
// HTTP server that clients connect to, and the faults that tests inject.
//
// A [Server] listens on loopback, with TLS under a certificate of its own or
// without, and behaves like a machine behind a network:
//
//	Down   connections are refused, existing ones are cut, the port stays ours
//	Hang   connections are accepted, no request gets a response, existing ones stall
//	Up     ends Down and Hang, on the same port
//
// An [Interceptor] runs before the cloud's own handler. It counts every call by
// the name of its operation, delays calls, and injects a [Fault] into those
// that a [Rule] picks: the second Login, every call of the tag service. A Fault
// is a small middleware; the ones here suit any cloud ([Status], [Drop],
// [DropResponse], [Hold]), and each cloud adds errors of its own API.
//
// Nothing here depends on timing: rules count calls, waits end on an event.
// Everything may be used from several goroutines at once.
package simserver
