// Package vsphere simulates vCenters: SOAP and REST over TLS on loopback, an
// inventory that a few lines of Go describe, and faults on demand. Tests
// of the vSphere provider, the demo and the benchmark run against it with the
// client they use in production.
//
//	cloud, err := vsphere.Start(spec)           // a Spec literal, with Fleet for many VMs
//	defer cloud.Close()
//	v := cloud.VCenter("vc-a")                  // v.URL(), v.CAFile(), v.User(), v.Password()
//
//	cloud.VM("node-1").PowerOff()               // what happens to VMs: see VM
//	v.AttachTag("/dc/host/cluster", "k8s-zone", "zone-a")
//	v.Calls()["FindByUuid"]                     // what clients did: see simserver.Log
//	v.Sessions()                                // what they left behind
//	v.Inject("Login", simserver.Nth(2), vsphere.Fault(&types.InvalidLogin{}))
//	v.Inject(vsphere.GroupTags, simserver.Always(), simserver.Status(503))
//	v.SetLatency(30 * time.Millisecond)         // see simserver.Interceptor
//	v.SetPassword("rotated"); v.TerminateSessions()
//	v.Down(); v.Hang(); v.Up()                  // see simserver.Server
//	v.SetCalculationTime(time.Minute)           // a slow feed; see also SetEarlyNull,
//	                                            // SetIdleLimit and SetUnreadable
//
// # Operations
//
// SOAP calls are counted by method: Login, FindByUuid, RetrievePropertiesEx.
// WaitForUpdatesEx is a poll: it is in Calls and Polls, not in Total. REST calls
// have names like ListAttachedTagsOnObjects, GetTag, ListCategories, RESTLogin
// and RESTLogout; token services STSIssue and LookupList; the shared session
// endpoint SharedSession. Anything else is counted as method and path, and not
// found.
//
// # What is better than in vcsim
//
// Underneath is govmomi's vcsim. These things are made to behave like a vCenter:
//
//   - The change feed (WaitForUpdatesEx) compares what it reported with what is,
//     and reads only what changed: a change among a thousand VMs costs one VM.
//     Container views follow every arrival, departure and move. A client can
//     request again what came after any version that was not truncated, and after a
//     truncated one only until the next response; other versions fault with
//     InvalidCollectorVersion. A wait ends with its session (NotAuthenticated),
//     with a newer wait on the same collector (RequestCanceled), and when its client
//     hangs up.
//   - Unknown property paths fault with InvalidProperty. Paths with keys work in
//     reads and in filters: config.extraConfig["guestinfo.metadata"]. Properties
//     that are not set are left out of an enter; when they become unset later, the
//     feed assigns nothing (Op assign, Val nil), except arrays, which become empty.
//   - RetrievePropertiesEx returns at most 100 objects in one page, and the next one needs a role on the root folder, see [VCenter.SetHidden]. Pages
//     that are not read stay until they are dropped ([VCenter.UnreadPages]). Properties
//     that cannot be read are in the missingSet, see [VCenter.SetUnreadable].
//   - Searches by UUID obey the datacenter and find UUIDs in any case. Those by host
//     name match exactly.
//   - A guest that is switched off reports no networks, and no name unless
//     [VM.KeepHostname] is set.
//   - VMs leave and return under another managed object reference: [VM.Unregister],
//     [VCenter.RemoveHost], [VCenter.Restore], [VM.MigrateTo]; a reference can become
//     that of another VM, see [VCenter.AddVMAs]. An address can lead to another
//     vCenter, see [VCenter.SetInstanceUUID].
//   - VMs share a BIOS UUID: [VM.Clone], [VM.AddSecondary] for Fault Tolerance,
//     [VM.SetTemplate].
//   - VMs in a vApp have a parentVApp and no parent.
//   - The cookie of a SOAP session serves as REST session id.
//   - Wrong credentials are refused, idle sessions end (a long poll keeps its
//     session busy), and all sessions with their collectors, filters and views can
//     be listed.
//   - Five logins with a wrong password within three minutes lock the account for
//     five minutes, for every client: see [VCenter.Lockouts].
//   - A login by token whose SOAPAction announces a newer API than that of the
//     vCenter is refused.
//   - The REST API goes down and up by itself ([VCenter.RESTDown]), has an idle
//     timeout of its own, and refuses the 551st session of the account.
//   - The REST API is served at /api and at /rest, or at one of them alone
//     ([VCenter.SetRESTPaths]). The tag service refuses more than 360 operations a
//     second.
//   - Objects without permission for the account are left out of views and of the
//     responses of the tag service: see [VCenter.SetHidden].
//   - Several vCenters share nothing, except the directory of those in
//     [Spec.Linked]. Managed object references repeat from one
//     to the next, as they do in life; UUIDs do not.
//   - Every call is atomic, the tasks it starts included.
//
// # What it does not do
//
//   - VMs are made and changed by the spec, [VCenter.AddVM] and the methods of [VM],
//     not over SOAP: there is no datastore.
//   - PartialUpdates is ignored: a change always carries the whole property that
//     the filter names.
//   - There are no other privileges; use [Fault] with NoPermission.
//   - Tokens of the security token service are not checked.
//   - Of vCenter's managers only those for sessions, properties, views, searches,
//     tasks, events, options and custom fields exist; of REST, sessions and tags.
//   - Nothing is searched for by address or inventory path.
package vsphere
