package loadbalancers

import "github.com/multicloud-ccm/multicloud-ccm/providers/common/service"

// The reasons of Events on Services.
const (
	// ForeignObjects: another cluster has the same name.
	ForeignObjects service.Reason = "ForeignObjects"
	// SeveralAllocations: it is not known which one the Service has its address from.
	SeveralAllocations service.Reason = "SeveralAllocations"
	// AddressKept: the Service requests another address than its load balancer has.
	AddressKept service.Reason = "AddressKept"
	// PoolChanged: a person has replaced the members of a pool.
	PoolChanged service.Reason = "PoolChanged"
	// SNATChanged: a pool has the translation of addresses of a changed cloud-config.
	SNATChanged service.Reason = "SNATChanged"
	// SweepLimited: objects of many Services that no longer exist are deleted little by little.
	SweepLimited service.Reason = "SweepLimited"
	// ClientAddressHidden: Nodes do not see the addresses of clients.
	ClientAddressHidden service.Reason = "ClientAddressHidden"
)
