// Package contract holds what a cloud provider may expect from an OpenStack
// cloud as requests and recorded responses. It speaks plain HTTP, so the same
// requests go to the real services, from which the responses are recorded, and
// to the simulated cloud, which must return the same.
//
// # Scenarios
//
// A file in scenarios is a list of steps on one subject, in YAML. Its responses
// are in the file of the same name in golden. Each scenario starts in the
// layout below, with nothing else in the projects. A step is one of:
//
//	request   sends a request and records the response:
//	          "POST load-balancer /v2.0/lbaas/pools". The service is identity,
//	          compute, network or load-balancer, the path starts at the root of
//	          the service.
//	until     beside request: repeats it until a field of the response has a
//	          value ("loadbalancer.provisioning_status=ACTIVE") or the status is
//	          reached ("status=404"). Only the status and that field are
//	          recorded.
//	fixture   puts the cloud into a state that no request of the provider can
//	          create; see [Fixture]. Nothing is recorded.
//
// A request is sent as user ccm unless the step names another in as. Values of
// the response are kept under a name by capture ("id: pool.id", "token:
// header:X-Subject-Token"), and $id is replaced in later paths, headers and
// bodies.
//
// # Layout
//
// A target must provide, and list in [Cloud].Vars under the names in
// parentheses:
//
//   - project contract ($project) with the users ccm (roles member and
//     load-balancer_member, $ccm_user, $ccm_user_id, $ccm_password) and reader (roles reader and
//     load-balancer_observer, $reader_user, $reader_password), project
//     contract-other ($other_project) with the user other (as ccm), and a user
//     admin with the role admin in another project ($admin_project)
//   - an application credential of ccm ($appcred_id, $appcred_secret), and its
//     name contract
//   - external network contract-public ($public) owned by admin, with subnet
//     contract-public-v4 ($public_subnet), 198.51.100.0/24, pool .10 to .15
//   - network contract-private ($private) with the subnets contract-v4
//     ($subnet), 10.50.0.0/24, and contract-v6 ($subnet_v6), fd00:50::/64, SLAAC
//   - router contract-router ($router), its gateway on contract-public, with an
//     interface in both subnets
//   - network contract-isolated ($isolated) with the subnet contract-isolated-v4
//     ($isolated_subnet), 10.60.0.0/29, on no router
//   - servers node-1 to node-3 ($node_1 ...) of flavor m1.small ($flavor), status
//     ACTIVE, each with one port ($node_1_port ...) on contract-private with the
//     IPv4 addresses 10.50.0.11 to .13 and the group default ($default_group).
//     The IPv6 addresses are those of SLAAC.
//   - public flavors m1.tiny (1 CPU, 512 MiB, 1 GiB), m1.small (1, 2048, 10),
//     m1.medium (2, 4096, 20) and m1.large (4, 8192, 40)
//   - region RegionOne, domain default named Default
//
// Quotas are not reached by any step, unless a fixture sets them.
package contract
