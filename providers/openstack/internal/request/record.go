package request

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Requested stands for the load balancer with the name of the Service in a record, as long
// as its ID is not known.
const Requested = "requested"

// RecordOf returns the load balancers that the Service may have parts in, the one that it
// uses first, as [Record] has written them: IDs, or [Requested]. It is empty without a
// record, and for a copy of a Service: that has another UID.
func RecordOf(svc *v1.Service) []string {
	fields := strings.Fields(AnnotationLoadBalancers.Value(svc))
	if len(fields) == 0 || fields[0] != string(svc.UID) {
		return nil
	}

	return slices.DeleteFunc(fields[1:], func(id string) bool { return id != Requested && !uuid.MatchString(id) })
}

// Record returns the value of the annotation with these load balancers.
func (n Names) Record(balancers ...string) string {
	return strings.Join(append([]string{string(n.UID)}, balancers...), " ")
}
