// Package session keeps one SOAP and one REST session with each vCenter.
//
// What it promises:
//
//   - One session of each kind for the whole process, made when it is first
//     needed, made again when vCenter has ended it, and ended by Close. A login
//     that finishes after Close is logged out again.
//   - Never a storm: any number of callers share one login; credentials that
//     were refused are tried again only after a growing pause, and at once when
//     they change; until then calls fail with the last cause and do not wait.
//   - No account is locked: see [Lockout].
//   - The SOAP and REST APIs do not wait for each other, except that a shared
//     session needs the SOAP API.
//   - Each caller waits no longer than its own context allows, and each call has
//     a deadline even if its caller set none. No lock is held during a call.
//   - New credentials replace a session that still works only once they have
//     proven right.
//   - Passwords, keys and tokens appear in no log, no error and no metric, at
//     no verbosity.
//   - Errors carry the meanings of package apierr and name the vCenter.
package session
