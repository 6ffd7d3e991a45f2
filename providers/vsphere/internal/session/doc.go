// Package session keeps one SOAP and one REST session with each vCenter.
//
// What it promises:
//
//   - One session of each kind for the whole process, made when it is first
//     needed, made again when vCenter has ended it, and ended by Close. A login
//     that finishes after Close is logged out again.
//   - Few logins: any number of callers share one; credentials that were refused
//     are tried again only after a growing delay, and at once when they change;
//     until then calls fail with the last cause and do not wait.
//   - No account is locked: see [login.Guard].
//   - The SOAP and REST APIs do not wait for each other, except that a shared
//     session needs the SOAP API.
//   - Each caller waits no longer than its own context allows, and each call has
//     a deadline even if its caller set none. No lock is held during a call.
//   - New credentials replace a session that still works only after a login with
//     them has succeeded.
//   - Passwords, keys and tokens appear in no log, no error and no metric, at
//     no verbosity.
//   - Errors wrap the sentinels of package apierr and name the vCenter.
//
// It is for vCenter alone. Where credentials come from is package credential, and how
// many logins may fail is package login.
package session
