// Package nsx is a client of the policy API of one NSX-T manager.
//
// What it promises:
//
//   - Each call has a deadline, and ends with its context.
//   - Objects are kept as the manager returned them, with fields that are not known here:
//     an [Object] that was read, changed and written loses nothing.
//   - An error is marked by HTTP status and error code of NSX, see [Error]. A response of
//     a proxy, or one that cannot be read, says nothing about an object.
//   - Calls are repeated if the manager is busy, restarts or did not respond. Repeating is
//     safe for all of them: the caller chooses the IDs, and each write of an object that
//     exists has its revision.
//   - The rate of calls stays below the limits of a manager, and falls when it throttles.
//   - No password is sent more often than the login guard allows, since NSX-T locks
//     accounts; see package login.
//
// API reference: https://developer.broadcom.com/xapis/nsx-t-data-center-rest-api/latest/.
package nsx
