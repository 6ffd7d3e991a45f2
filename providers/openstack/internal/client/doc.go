// Package client makes the clients of the OpenStack services.
//
// What it promises:
//
//   - One login serves all callers. It has a context of its own: no caller's end ends it.
//   - A service that refuses the token has all callers wait for one new login, and each
//     request that was refused is sent once more.
//   - The project, the region and the endpoints of the first login stay those of the
//     process. A login that leads to another project is refused.
//   - New credentials are used once they have logged in to the same project; until then
//     the old ones are.
//   - Every request is counted once, bounded in time and limited by service: a slow or
//     busy service delays no other one.
//   - Reads are repeated after temporary failures. A write is repeated only if it was
//     certainly not carried out; [MayBeApplied] reports whether a failed one may have been.
//   - Errors are marked with a sentinel of package apierr. Not found means that the
//     service itself responded so, and never a proxy.
//   - No password, secret or token is logged or part of an error.
package client
