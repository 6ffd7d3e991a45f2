// Package front is the part that every simulated cloud has in common: the HTTP
// server that its clients talk to, and what can be done to that server.
//
// A [Server] listens on loopback, with TLS under a certificate of its own or
// without, and behaves like a machine behind a network:
//
//	Down   connections are refused, existing ones are cut, the port stays ours
//	Hang   connections are accepted, nothing is ever answered, existing ones go silent
//	Up     all is well again, on the same port
//
// A [Gate] stands between the server and the cloud's own handler. It counts
// every call by the name of its operation, slows calls down, and breaks the
// ones that a [Rule] picks: the second Login, every call of the tag service.
// What happens to a broken call is an [Effect], a small middleware; the ones
// here suit any cloud ([Status], [Drop], [DropAnswer], [Hold]), and each cloud
// adds answers in its own dialect.
//
// Nothing here depends on timing: rules count calls, waits end on an event.
// Everything may be used from several goroutines at once.
package front
