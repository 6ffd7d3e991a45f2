// Package nsxt simulates an NSX-T manager: the policy API over HTTPS on loopback, objects
// that a few lines of Go describe, and faults on demand. Tests of load balancers and
// routes of the vSphere provider run against it.
//
//	cloud, err := nsxt.Start(nsxt.Spec{Tier1s: []nsxt.Tier1{{ID: "t1", EdgeCluster: true}}})
//	defer cloud.Close()
//	cloud.Host()                                 // host:port/prefix, cloud.CertificatePEM()
//	cloud.Interceptor().Count("PutStaticRoute")  // what clients did: see simserver.Log
//	cloud.Requests("PutStaticRoute")             // with bodies and users
//	cloud.Interceptor().Inject("Search", simserver.Always(), nsxt.Fault(400, 60508))
//	cloud.Put("/infra/lb-pools/p", nsxt.Object{…}) // what people do: see [Cloud.Put]
//	cloud.FailRealization("/infra/lb-services", nsxt.Alarm{Code: 500042})
//	cloud.Restart(time.Minute)                   // 503 until then
//	cloud.Resources(); cloud.Leaks()             // what clients left behind
//
// # Operations
//
// Calls are counted by verb and kind of object: GetTier1, ListStaticRoutes, GetStaticRoute,
// PutStaticRoute, PatchStaticRoute, DeleteStaticRoute, and so on for the kinds in kinds.go.
// Their group is the collection: static-routes. The others are Search (group search),
// GetRealizedEntities (realized-state), CreateSession, DestroySession and CreateToken (login).
// Anything else is counted as method and path, and not found, like what is below
// global-infra and orgs.
//
// # Rules
//
// Each rule has its source in a comment of a few words: [SDK] is the reference in the
// comments of github.com/vmware/vsphere-automation-sdk-go/services/nsxt v0.12.0,
// [operator] the table of errors in github.com/vmware-tanzu/nsx-operator, pkg/nsx/util/utils.go,
// [terraform] an issue or pull request of github.com/vmware/terraform-provider-nsxt, [API] a
// page of developer.broadcom.com, [docs] one of docs.vmware.com, [KB] one of
// knowledge.broadcom.com. What has no source is a field of [Spec], and marked as such.
//
// Texts of errors are not those of a manager: clients decide by status and code.
//
// # What it does not do
//
//   - Parameters included_fields and site_path are ignored.
//   - Tier-1 gateways and IP pools are read only.
//   - There is no hierarchical API, no project and no Global Manager.
//   - Roles are not simulated: use [Cloud.SetDenied].
package nsxt
