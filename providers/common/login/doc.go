// Package login keeps a process from locking accounts by logins that are refused.
//
// What it promises:
//
//   - [Guard]: of all logins that share it, no more are refused, or stay without a response
//     with a password that may be wrong, within an interval than its [Limits] allow, for each
//     password and for each account, however many run at the same time. A login reserves one of these failures before its
//     password is sent. The first login with a password runs alone.
//   - A new process begins with one refused login: a process that is started again and again
//     must not lock an account either.
//   - [Backoff]: after a failure nothing is tried for a delay, which grows with each
//     one in a row; meanwhile the cause of the last failure is at hand.
//   - Nothing waits for a delay to pass: a login that may not be tried yet is an error
//     at once, with the time at which it may.
//   - Passwords are not kept, and nothing is stored beyond the end of the process.
//
// When not to use it: for logins without a password, which lock no account and need no
// more than a Backoff; for the delays of a loop that sleeps between its tries, which
// wait.Backoff has; for limits of a rate of calls. The backoff of package flowcontrol
// keeps no cause, and begins anew after twice its longest delay, in which a limit of
// three minutes has not passed.
package login
