package contract

import "context"

// Target is a cloud that a scenario runs against.
type Target interface {
	// Begin brings the cloud into the layout of the package comment: objects of
	// an earlier scenario are gone, quotas are the defaults.
	Begin(ctx context.Context, scenario string) (*Cloud, error)
	// Fixture puts the cloud into a state and returns what the step can capture:
	// the object as the API shows it, without its envelope.
	Fixture(ctx context.Context, f Fixture) (map[string]any, error)
}

// Cloud is where a [Target] is reached.
type Cloud struct {
	// Endpoints are base URLs without a path and without a trailing slash, by
	// service: identity, compute, network, load-balancer.
	Endpoints map[string]string
	// Users are the accounts by the name that steps use: ccm, reader, other,
	// admin.
	Users map[string]User
	// Vars are the values that steps may use, see the package comment.
	Vars map[string]string
}

// User is an account with a password in the domain Default.
type User struct {
	Name      string
	Password  string
	ProjectID string
}

// Fixture is a state that a step requires of the target.
//
//	kind           arguments, result
//	network        as the body of the API, the created object; by the user of
//	subnet         the step
//	router
//	port
//	l7policy       as the body of the API, ACTIVE when it returns
//	interface      router_id, subnet_id: adds a router interface
//	server         name, flavor_id, metadata, status (ACTIVE or SHUTOFF): a server
//	               on contract-private; the server object
//	delete-server  id: the server is gone when it returns
//	flavor         name, extra_specs, is_public; a Nova flavor, deleted with the
//	               scenario
//	delete-flavor  id
//	hold           on ("true" or "false"): while on, Octavia accepts changes
//	               and does not finish them (PENDING_*)
//	status         kind (loadbalancer, listener, pool, member, healthmonitor),
//	               id, provisioning_status and/or operating_status: sets them
//	settle         id: waits until a load balancer and all objects below it are
//	               ACTIVE after a create request with listeners (Octavia 11.0.0
//	               itself leaves the objects below PENDING_CREATE)
//	lb-quota       resource (as in the API of Octavia), limit; of $project
//	network-quota  resource (as in the API of Neutron), limit; of $project
//	network-limits routes, address_pairs: how many a router and a port may have,
//	               until the end of the scenario
//	lb-flavor      name: an enabled Octavia flavor of the default provider
//	revoke         token: revoked, and no service trusts a cached validation
type Fixture struct {
	Kind string
	// As is the name of the user that owns what is created.
	As string
	// Args are the arguments of the step, with variables replaced.
	Args map[string]any
}
