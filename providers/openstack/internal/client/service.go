package client

// Service is a service of OpenStack, by its type in the catalog.
type Service string

// The services that are called.
const (
	Identity     Service = "identity"
	Compute      Service = "compute"
	Network      Service = "network"
	LoadBalancer Service = "load-balancer"
	KeyManager   Service = "key-manager"
)
