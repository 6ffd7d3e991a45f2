// Package openstack simulates an OpenStack cloud over HTTP on loopback: Keystone
// v3, Nova, Neutron, Octavia and a part of Barbican, in one or several regions.
// Tests of the OpenStack provider, the demo and the benchmark run against it with
// gophercloud, as in production; the openstack command line works too.
//
//	cloud, err := openstack.Start(openstack.Options{})
//	defer cloud.Close()
//	client, err := cloud.Connect(ctx, cloud.AuthOptions(openstack.UserCCM))
//	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
//
//	cloud.SetServerStatus(id, "SHUTOFF"); cloud.DeleteServer(id)
//	cloud.Interceptor().Calls()["nova.ListServersDetail"] // what clients did: see simserver.Log
//	cloud.Requests("nova.ListServersDetail")[0].Query     // and with which parameters
//	cloud.Writes()                                  // only the mutating ones
//	cloud.Leaks(); cloud.Resources(); cloud.Dump()  // what clients left, and the state as text
//	state := cloud.Snapshot(); cloud.Restore(state) // the same state again
//	cloud.Interceptor().Inject("neutron", simserver.First(3), openstack.Error(503, "ServiceUnavailable", "try later"))
//	cloud.Interceptor().Inject("octavia.CreateLoadBalancer", simserver.Nth(1), openstack.ProxyAfter(504))
//	cloud.Interceptor().SetLatency(30 * time.Millisecond)
//	cloud.SetRowTimes(openstack.LargeCloudRowTimes()) // lists take longer with each row
//	cloud.Interceptor().Inject("keystone.CreateToken", simserver.Always(), openstack.DirectoryAway())
//	cloud.Interceptor().Inject("octavia.ListVersions", simserver.Always(), openstack.Proxy(403, "")) // a gateway hides it
//	cloud.Interceptor().Inject("octavia.ListLoadBalancers", simserver.Always(), openstack.Without("name", openstack.Proxy(504, "")))
//	cloud.RevokeTokens(); cloud.SetRoles(openstack.UserCCM, openstack.ProjectCCM)
//	cloud.SetCell("", "cell2", openstack.CellDown); cloud.SetServerMapped(id, false)
//	cloud.SetDenied("nova.ListServerActions", "octavia.*")
//	cloud.SetQuotas("", openstack.Quotas{FloatingIPs: 1})
//	cloud.Server().Down(); cloud.Server().Hang(); cloud.Server().Up()
//
// # Operations
//
// Calls are counted by service and operation: nova.ShowServer. The services are
// keystone, nova, neutron and octavia; these are also the groups for
// [simserver.Interceptor.Inject]. A path that no operation has is counted by
// service, method and path, and is 404.
//
// Everything is behind one endpoint: /identity, /compute, /network and
// /load-balancer. Regions but the first have their name in front, and so have the
// interfaces internal and admin: /internal/RegionTwo/compute/v2.1.
//
// # Time
//
// Delays, expiries and locks go by [Options].Clock. Nothing in the cloud waits:
// what is due happens at the next call. With a clock that a test steps, the
// [TypicalDelays] are on, since they cost nothing. Only the latency of the
// interceptor and its effects Slow and Hold take real time.
//
// # Stale reads
//
// Now and then a read shows the state before the latest write: see [StaleReads].
// It does so by default and in the same places in every run.
//
// # What is as in OpenStack
//
// Statuses, texts and fields are compared with those of Keystone 22, Nova 26, Neutron
// 21 and Octavia 11 (Zed), of which package contract has recordings; TestContract has
// what differs. Rules that no recording shows name their source in a comment.
//
//   - A refused login is 401 with one text, whatever the reason: wrong password,
//     locked account, other project, expired credential. A credential or a token
//     that does not exist is 404. See [Cloud.RequireMFA].
//   - Roles are looked up at each call. Who loses one in a project loses the
//     application credentials for it. The role reader writes nothing.
//   - Another project's server is 404, also to a list by ID; an administrator reads
//     it, and lists all projects with all_tenants alone.
//   - A server in a cell that is down is absent from lists, or has hardly a field and
//     the status UNKNOWN, and is 500 or UNKNOWN alone: see [Cloud.SetCell]. One whose
//     cell is not recorded is 404 although it runs: see [Cloud.SetServerMapped].
//   - A server in BUILD has no addresses and no zone. A deleted one is DELETED in lists
//     by changes-since, and has actions from 2.21 on, until [Cloud.ArchiveServers].
//   - A path of Nova with a version that does not exist is 300, with the versions.
//   - Octavia replaces the security groups of a port of the user, which keeps that of
//     the load balancer after its end.
//   - Pages have 1,000 rows, a full page has a next link even when nothing follows,
//     a higher limit is lowered without a word. Links say http behind a proxy.
//   - The name of a server in a filter is a regular expression whose case does not
//     matter. Names are not unique.
//   - Octavia: a change of a load balancer or of a part makes it PENDING_UPDATE until it
//     has its effect, see [Delays]; meanwhile, and in ERROR, all but a delete of the
//     broken one is 409. A pool in ERROR refuses members while the load balancer is
//     ACTIVE. See [Cloud.SetLoadBalancerStatus], [Cloud.HoldPending],
//     [Cloud.FailChanges], [Cloud.FailPool], [Cloud.StartFailover].
//   - The creation of a whole load balancer is all or nothing, and leaves the port of
//     its address in Neutron when a part of it is refused. Parts are ACTIVE a moment
//     after the load balancer. A pool of its own cannot be made with its members.
//   - A write of all members of a pool sets what is not in it to the defaults. With an
//     old member twice the load balancer is pending forever.
//   - Load balancers of other projects are 403, and their quotas, too: there is no other
//     status for a quota. The first creations of a project are 503 in parallel.
//   - Drivers refuse what they lack with 501, see [Profile] and [Cloud.SetProviders].
//   - What is served, by which members, is in [Cloud.Serving]; [Cloud.WatchServing]
//     finds the call that ends it. The operating status is what a test sets.
//
// # What it does not do
//
//   - Services of a real cloud trust a token that they validated for some minutes;
//     here a token ends at once.
//   - Servers are made by tests, not by POST, flavors also by administrators. There are no volumes, no metadata
//     service, no hypervisor: a server has the status that a test or a client set.
//   - Groups, federation, TOTP and system scope of Keystone are missing, as are
//     inherited and implied roles.
//   - L7 policies have no rules. Octavia has no statistics but zeros, no amphorae, and
//     none of what is newer than 2.26 but vip_sg_ids and HSTS; an old version differs by what it
//     does not know. Barbican has secrets and containers that tests make.
//   - Glance has one image, for the openstack command line.
//
// # Services
//
// For those who add to this package: a service is a value of type service, made by
// a method in its file x_service.go, with a table of routes:
//
//	{method: "GET", path: "/v2.0/ports/{id}", op: "ShowPort", handle: showPort}
//
// A handler gets a *call and returns a response, or an *apiError that the service
// renders in its own shape. It runs with the lock held and one call at a time:
//
//	func showPort(k *call) (response, error) {
//		p := k.region.neutron.ports.get(k.path("id")) // state by k.region only: it may be an older one
//		if p == nil || !k.caller.canRead(p.projectID) {
//			return response{}, fail(404, "PortNotFound", "Port %s could not be found.", k.path("id"))
//		}
//
//		return found("port", p.document(k)) // or reply(status, body)
//	}
//
// What there is for handlers:
//
//   - k.caller is who calls: projectID, userID, has(role), admin(), canRead(project).
//     A caller without a valid token never gets this far, and neither does one with
//     the role reader that calls a route that writes, unless the route has reader
//     set: then the handler finds its object first and calls k.requireWriter.
//   - k.query holds the parameters, with several values per key; k.decode reads the
//     body into a struct; k.object("port") reads it into [attributes], which tell
//     null from absent.
//   - Lists: build []object (map[string]any) in order, then k.novaPage,
//     k.neutronPage or k.octaviaPage, then only(rows, fields), then found("ports",
//     rows, links...). Links that are nil are left out, an empty list is not.
//   - State is in neutronState, octaviaState and so on, one per region, of tables
//     by ID ([table]). It has clone, leaks, resources and dump. A service reads and
//     writes the state of another one by k.region.
//   - c.newID(kind) makes UUIDs that are the same in every run; c.now() is the time;
//     c.after(d, func(c *Cloud)) changes something later. Such a function finds its
//     objects by ID and region name, since the state may have been restored.
//   - k.base() and k.url() are the URL of the service and of the call, for links.
//   - c.quotasOf(project) and exceeds(quota, used, added) are for quotas, c.delays
//     for delays, c.opts.Profile for what drivers and extensions there are.
//   - Methods for tests take the lock with c.inspect and panic when a spec is wrong.
package openstack
