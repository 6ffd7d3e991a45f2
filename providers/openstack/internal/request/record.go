package request

import (
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

// Requested stands for the load balancer with the name of the Service in a record, as long
// as its ID is not known.
const Requested = "requested"

// RecordOf returns the load balancers that the Service may have parts in, the one that it
// uses first, as [Names.Record] has written them: IDs, or [Requested]. It is empty without a
// record, and for a copy of a Service: that has another UID.
func RecordOf(svc *v1.Service) []string {
	return lists.Filter(recorded(svc), func(field string) bool { return field == Requested || uuid.IsID(field) })
}

// KeptOf returns the VIP that the Service keeps as its address, as [Names.Record] has written
// it: the zero Addr for none, and for a copy of a Service.
func KeptOf(svc *v1.Service) netip.Addr {
	for _, field := range recorded(svc) {
		if addr, err := netip.ParseAddr(field); err == nil {
			return addr.Unmap()
		}
	}

	return netip.Addr{}
}

// recorded returns the record of a Service without its UID.
func recorded(svc *v1.Service) []string {
	fields := strings.Fields(AnnotationLoadBalancers.Value(svc))
	if len(fields) == 0 || fields[0] != string(svc.UID) {
		return nil
	}

	return fields[1:]
}

// Record returns the value of the annotation with these load balancers, and with the VIP that
// the Service keeps as its address, the zero Addr for none.
func (n Names) Record(kept netip.Addr, balancers ...string) string {
	fields := slices.Concat([]string{string(n.UID)}, balancers)
	if kept.IsValid() {
		fields = append(fields, kept.String())
	}

	return strings.Join(fields, " ")
}
