// Package login keeps a program from locking accounts by logins that are refused.
//
// What it promises:
//
//   - [Guard]: of all logins that share it, no more fail within an interval than its
//     [Limits] allow, for each password and for each account, however many run at the
//     same time. A login reserves one of these failures before its password is sent,
//     and one whose response was lost counts as a failure. The first login with a
//     password runs alone.
//   - [Backoff]: after a failure nothing is tried for a delay, which grows with each
//     one in a row; meanwhile the cause of the last failure is at hand.
//   - Nothing waits for a delay to pass: a login that may not be tried yet is an error
//     at once.
//   - Passwords are not kept.
//   - With a [Store], all this holds over restarts of the process and changes of the
//     leader: [LeaseStore] is an annotation of a Lease, one for each provider in each
//     cluster. What is stored has salted hashes of accounts, hashes of passwords that are
//     too short to find a password by, and the times of failures; it is bounded. A store that fails keeps no login
//     from being tried.
//
// Without a store, a guard knows of no failure before the start of its process.
//
// When not to use it: for logins without a password, which lock no account and need no
// more than a Backoff; for the delays of a loop that sleeps between its tries, which
// wait.Backoff has; for limits of a rate of calls. The backoff of package flowcontrol
// keeps no cause, and begins anew after twice its longest delay, in which a limit of
// three minutes has not passed.
package login
