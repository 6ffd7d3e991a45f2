package request

import (
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

// Existing is what finds the load balancers of a Service, and deletes them. It is there for
// every Service, valid or not.
type Existing struct {
	Names Names
	// LoadBalancerID is the load balancer of the annotation, empty without it or if it is
	// no ID.
	LoadBalancerID string
	// Published is the address that an earlier sync wrote into the annotation.
	Published string
	// Recorded are the load balancers that the Service may have parts in, see [RecordOf].
	Recorded []string
	// Kept is the VIP that the Service keeps as its address, see [KeptOf].
	Kept netip.Addr
	// Former is the UID of the Service that the load balancer of the annotation is taken over from,
	// empty for none.
	Former types.UID
	// KeepFloatingIP detaches the floating IP instead of deleting it.
	KeepFloatingIP bool
}

// InUse returns the ID of the load balancer that the Service uses, empty if none is known: the
// recorded one stays if the annotation is changed or removed.
func (e Existing) InUse() string {
	if ids := e.RecordedIDs(); len(ids) > 0 && !slices.Contains(ids, e.LoadBalancerID) {
		return ids[0]
	}

	return e.LoadBalancerID
}

// RecordedIDs returns the load balancers of the record whose ID is known.
func (e Existing) RecordedIDs() []string { return lists.Without(e.Recorded, []string{Requested}) }

// ForDelete returns what finds and deletes the load balancer of a Service.
func ForDelete(svc *v1.Service, cluster string) Existing {
	existing := Existing{
		Names: NewNames(cluster, svc), Published: AnnotationLoadBalancerAddress.Value(svc), Recorded: RecordOf(svc), Kept: KeptOf(svc),
	}
	if id := AnnotationLoadBalancerID.Value(svc); uuid.IsID(id) {
		existing.LoadBalancerID = id
	}
	if former := AnnotationTakeOver.Value(svc); uuid.IsID(former) {
		existing.Former = types.UID(former)
	}
	if keep := annotation.NewReader(svc).TrueFalse(AnnotationKeepFloatingIP); keep != nil {
		existing.KeepFloatingIP = *keep
	}

	return existing
}
