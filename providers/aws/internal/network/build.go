package network

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// Attributes of load balancers.
const (
	crossZone       = "load_balancing.cross_zone.enabled"
	accessLog       = "access_logs.s3.enabled"
	accessLogBucket = "access_logs.s3.bucket"
	accessLogPrefix = "access_logs.s3.prefix"
)

// backendTLS is the backend protocol for targets with TLS.
const backendTLS = "ssl"

// Build returns the load balancer that the Service specifies.
func Build(r *request.Request, f request.Facts) (*Model, []service.Warning, error) {
	if f.Config.BadNetworkSetting != nil {
		return nil, nil, f.Config.BadNetworkSetting
	}
	check, err := healthCheck(r, f.Config)
	if err != nil {
		return nil, nil, err
	}
	mappings, err := mappings(r, f)
	if err != nil {
		return nil, nil, err
	}
	instances, skipped := r.Instances(f)
	model := &Model{
		Name:     r.Name,
		Service:  r.Service,
		Cluster:  f.Config.Cluster,
		VPC:      f.Config.VPC,
		Internal: r.Internal,
		Mappings: mappings,
		Annotated: Annotated{
			Subnets:              r.Subnets != nil,
			EIPAllocations:       len(r.EIPAllocations) > 0,
			PrivateIPv4Addresses: len(r.PrivateIPv4Addresses) > 0,
			SecurityGroups:       f.Config.ManagedNetworkGroups && len(r.SecurityGroups) > 0,
		},
		SecurityGroups: f.SecurityGroups,
		Tags:           r.AllTags(f.Config.Cluster),
		Attributes:     attributes(r.Attributes),
		Listeners:      listeners(r, f.Config.Cluster, check),
		Targets:        instances.Registered,
		Resting:        instances.Kept,
	}

	return model, slices.Concat(ignored(r, f.Config, check), model.unfit(), skipped), nil
}

// mappings assigns addresses to subnets, by position. If no subnets were
// chosen, the load balancer keeps its own, and only the addresses are returned.
func mappings(r *request.Request, f request.Facts) ([]Mapping, error) {
	if err := errors.Join(
		matches(request.AnnotationEIPAllocations, r.EIPAllocations, f.Subnets),
		matches(request.AnnotationPrivateIPv4Addresses, r.PrivateIPv4Addresses, f.Subnets),
	); err != nil {
		return nil, apierr.Mark(apierr.ErrInvalid, err)
	}
	list := make([]Mapping, max(len(f.Subnets), len(r.EIPAllocations), len(r.PrivateIPv4Addresses)))
	for i, subnet := range f.Subnets {
		list[i].Subnet = subnet.ID
	}
	for i, allocation := range r.EIPAllocations {
		list[i].Allocation = allocation
	}
	for i, address := range r.PrivateIPv4Addresses {
		list[i].PrivateIPv4 = address
	}

	return list, nil
}

// matches returns an error unless there is one address for each subnet, or no
// address at all. If no subnets were chosen, any number matches: the load balancer
// keeps its own.
func matches(name annotation.Name, addresses []string, subnets []vpc.Subnet) error {
	if len(addresses) == 0 || len(subnets) == 0 || len(addresses) == len(subnets) {
		return nil
	}

	return fmt.Errorf("annotation %s lists %d for %d subnets", name, len(addresses), len(subnets))
}

// attributes returns the attributes of the load balancer that count. A disabled
// feature has no settings of its bucket.
func attributes(annotated request.Attributes) map[string]string {
	all := map[string]string{
		crossZone: strconv.FormatBool(aws.ToBool(annotated.CrossZone)),
		accessLog: strconv.FormatBool(aws.ToBool(annotated.AccessLogEnabled)),
	}
	if !aws.ToBool(annotated.AccessLogEnabled) {
		return all
	}
	if annotated.AccessLogBucket != nil {
		all[accessLogBucket] = *annotated.AccessLogBucket
	}
	if annotated.AccessLogPrefix != nil {
		all[accessLogPrefix] = *annotated.AccessLogPrefix
	}

	return all
}

// listeners returns one listener with one target group for each port.
func listeners(r *request.Request, id cluster.ID, check HealthCheck) []Listener {
	list := make([]Listener, 0, len(r.Ports))
	for _, port := range r.Ports {
		protocol := elbv2types.ProtocolEnum(port.Protocol)
		listener := Listener{Port: port.Port, Protocol: protocol}
		group := TargetGroup{
			Protocol:    protocol,
			Port:        port.NodePort,
			HealthCheck: check,
			Attributes:  r.TargetGroupAttributes,
		}
		if port.Protocol != v1.ProtocolUDP && r.TLS.Selects(port) {
			listener.Protocol = elbv2types.ProtocolEnumTls
			listener.Certificate = r.TLS.Certificate
			listener.Policy = r.TLS.Policy
			if r.BackendProtocol == backendTLS {
				group.Protocol = elbv2types.ProtocolEnumTls
			}
		}
		group.Name = targetGroupName(id, r.Service, port.Port, group)
		group.Spare = spareName(id, r.Service, port.Port, group)
		listener.TargetGroup = group
		list = append(list, listener)
	}

	return list
}

// UnfitHealthCheck is the reason of the warning about probes that cannot pass.
const UnfitHealthCheck service.Reason = "UnfitHealthCheck"

// unfit warns of health checks that open a TCP connection to a UDP port.
func (m *Model) unfit() []service.Warning {
	var ports []string
	for _, listener := range m.Listeners {
		group := listener.TargetGroup
		if listener.Protocol == elbv2types.ProtocolEnumUdp && group.probed() == group.Port {
			ports = append(ports, strconv.Itoa(int(listener.Port)))
		}
	}
	if len(ports) == 0 {
		return nil
	}

	return []service.Warning{service.Warn(UnfitHealthCheck,
		"The %s health check of UDP port %s goes to its node port, where nothing listens on TCP; "+
			"annotate a health check port that does, or use externalTrafficPolicy Local",
		m.Listeners[0].TargetGroup.HealthCheck.Protocol, strings.Join(ports, ", "))}
}
