package kubetest

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// firstNodePort is where automatic node ports begin in a cluster.
const firstNodePort = 30000

// ServiceOption changes a Service that is being built.
type ServiceOption func(*v1.Service)

// Service builds a Service of type LoadBalancer for IPv4 that balances over the
// whole cluster. It has the TCP port 80 unless it is given ports.
func Service(namespace, name string, options ...ServiceOption) *v1.Service {
	service := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   namespace,
			Name:        name,
			UID:         types.UID("uid-" + namespace + "-" + name),
			Annotations: map[string]string{},
		},
		Spec: v1.ServiceSpec{
			Type:                  v1.ServiceTypeLoadBalancer,
			SessionAffinity:       v1.ServiceAffinityNone,
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster,
			IPFamilies:            []v1.IPFamily{v1.IPv4Protocol},
		},
	}
	for _, option := range options {
		option(service)
	}
	if len(service.Spec.Ports) == 0 {
		Port(v1.ProtocolTCP, 80)(service)
	}

	return service
}

// Port adds a port, with the node port 30000 above it and named after both.
func Port(protocol v1.Protocol, port int32) ServiceOption {
	return func(service *v1.Service) {
		service.Spec.Ports = append(service.Spec.Ports, v1.ServicePort{
			Name:       fmt.Sprintf("%s-%d", strings.ToLower(string(protocol)), port),
			Protocol:   protocol,
			Port:       port,
			TargetPort: intstr.FromInt32(port),
			NodePort:   firstNodePort + port,
		})
	}
}

// ServiceUID sets the UID, from which names of load balancers are made.
func ServiceUID(uid string) ServiceOption {
	return func(service *v1.Service) { service.UID = types.UID(uid) }
}

// ServiceAnnotated adds an annotation.
func ServiceAnnotated(key, value string) ServiceOption {
	return func(service *v1.Service) { service.Annotations[key] = value }
}

// LocalTraffic sends traffic only to nodes with an endpoint, as their health
// check on that node port reports.
func LocalTraffic(healthCheckNodePort int32) ServiceOption {
	return func(service *v1.Service) {
		service.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
		service.Spec.HealthCheckNodePort = healthCheckNodePort
	}
}
