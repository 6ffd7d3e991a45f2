package openstack

import (
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// Why a load balancer stays as it is.
const (
	staysFixed    = "Octavia cannot change it"
	staysAddress  = "the address of the load balancer would change"
	staysCurrent  = "the load balancer has what the default selects, and nothing asks for another one"
	staysPublic   = "the floating IP is there"
	staysMembers  = "members with the address and the port cannot change their subnet, and would have to be deleted"
	staysStatus   = "nothing but the status depends on it"
	staysNew      = "it is about load balancers that are made or deleted"
	staysWritten  = "the controller writes the annotation again"
	staysElse     = "the provider has none"
	staysNames    = "parts keep their names"
	staysNoEffect = "load balancers do not depend on it"
	gapProtocol   = "Octavia permits one listener for each port, whose protocol cannot change"
)

// values are two values of an annotation, in which $ begins the name of an ID of the cloud.
type values struct {
	first, second string
	// all is what the changes have in common: to set, to change and to remove the annotation.
	all liveChange
	// set, changed and removed are what they have on their own.
	set, changed, removed func(*liveChange)
}

func stay(why string) func(*liveChange) { return func(c *liveChange) { c.stays, c.event = why, "" } }
func gap(why string) func(*liveChange)  { return func(c *liveChange) { c.gap = why } }

// unchangeable is what Octavia cannot change. The user gets an Event, unless nothing is wanted.
func unchangeable(first, second string) values {
	return values{
		first: first, second: second, all: liveChange{stays: staysFixed, event: reasonFixed}, removed: stay(staysCurrent),
	}
}

// refusedBy is a change that kinds of load balancers do not have: an error.
func refusedBy(kinds ...string) map[string]func(*liveChange) {
	all := map[string]func(*liveChange){}
	for _, kind := range kinds {
		all[kind] = func(c *liveChange) {
			c.skipped, c.fails = c.begins, func(err error) bool { return errors.Is(err, apierr.ErrInvalid) }
		}
	}

	return all
}

// liveClasses are two classes of load balancers.
const liveClasses = "[LoadBalancerClass \"first\"]\nsubnet-id = $other-subnet\n[LoadBalancerClass \"second\"]\nnetwork-id = $network\n"

// noMethod is an algorithm that OVN refuses. A load balancer that exists keeps its own.
var noMethod = map[string]func(*liveChange){"ovn": func(c *liveChange) {
	c.skipped, c.stays, c.event = c.begins, staysElse, request.MethodUnknown
}}

const withMonitors = "create-monitor = true\n"

// liveAnnotations has two values of each annotation.
func liveAnnotations() map[annotation.Name]values {
	monitored := liveChange{scenario: scenario{config: withMonitors}}
	elsewhere := map[string]func(*liveChange){"ovn": stay(staysElse)}
	timeouts := values{first: "1000", second: "2000", all: liveChange{on: elsewhere}}
	tls := values{
		first:  "$secret1",
		second: "$secret2",
		set:    gap(gapProtocol), removed: gap(gapProtocol), all: liveChange{on: refusedBy("ovn")},
	}
	zones := unchangeable("$zone1", "$zone2")
	zones.all.on = map[string]func(*liveChange){"ovn": func(c *liveChange) { c.stays = staysElse; c.event = "" }}
	networks := unchangeable("$other-network", "$network")
	// Members of OVN outside of the subnet of the VIP need a subnet.
	networks.all.on = map[string]func(*liveChange){"ovn": func(c *liveChange) { c.skipped = c.begins }}
	flavors := unchangeable("$flavor1", "$flavor2")
	flavors.all.on = elsewhere

	return map[annotation.Name]values{
		request.AnnotationInternal: {
			first: "true", second: "false",
			set: func(c *liveChange) { c.withdrawn = true },
		},
		request.AnnotationClass: {
			first: "first", second: "second", removed: stay(staysCurrent), all: liveChange{
				scenario: scenario{config: liveClasses}, stays: staysFixed, event: reasonFixed,
			},
		},
		request.AnnotationSubnetID:  unchangeable("$other-subnet", "$subnet"),
		request.AnnotationNetworkID: networks,
		request.AnnotationMemberSubnetID: {
			first: "$other-subnet", second: "$subnet",
			all: liveChange{stays: staysMembers, event: reasonFixed}, removed: func(c *liveChange) { c.event = "" },
		},
		request.AnnotationPortID: unchangeable("$port1", "$port2"),
		request.AnnotationFloatingNetworkID: {
			first: "$external", second: "$other-network",
			all: liveChange{stays: staysPublic}, changed: func(c *liveChange) { c.event = reasonFixed },
		},
		request.AnnotationFloatingSubnetID: {
			first:  "$outside1",
			second: "$outside2", all: liveChange{stays: staysPublic},
		},
		request.AnnotationFloatingSubnet:     {first: "first", second: "second", all: liveChange{stays: staysPublic}},
		request.AnnotationFloatingSubnetTags: {first: "first", second: "second", all: liveChange{stays: staysPublic}},
		request.AnnotationKeepFloatingIP:     {first: "true", second: "false"},
		request.AnnotationHostname:           {first: "first.example.com", second: "second.example.com"},
		request.AnnotationFlavorID:           flavors,
		request.AnnotationAvailabilityZone:   zones,
		request.AnnotationLoadBalancerID:     {}, // TestCrash moves a Service
		request.AnnotationLoadBalancers:      {}, // only the controller sets it
		request.AnnotationTakeOver:           {first: "11111111-1111-4111-8111-111111111111", second: "22222222-2222-4222-8222-222222222222"},
		request.AnnotationLoadBalancerAddress: {
			first: "192.0.2.9", second: "no address", all: liveChange{stays: staysWritten},
		},
		request.AnnotationProxyProtocol:               {first: "true", second: "v2", all: liveChange{on: refusedBy("ovn")}},
		request.AnnotationXForwardedFor:               {first: "true", second: "false", all: liveChange{gap: gapProtocol, on: refusedBy("ovn")}},
		request.AnnotationTLSContainerRef:             tls,
		request.AnnotationLBMethod:                    {first: "LEAST_CONNECTIONS", second: "SOURCE_IP", all: liveChange{on: noMethod}},
		request.AnnotationConnectionLimit:             {first: "100", second: "200"},
		request.AnnotationTimeoutClientData:           timeouts,
		request.AnnotationTimeoutMemberConnect:        timeouts,
		request.AnnotationTimeoutMemberData:           timeouts,
		request.AnnotationTimeoutTCPInspect:           timeouts,
		request.AnnotationNodeSelector:                {first: "kubernetes.io/hostname=node-1", second: "kubernetes.io/hostname"},
		request.AnnotationSourceRanges:                {first: "198.51.100.0/24", second: "192.0.2.0/24,198.51.100.0/25"},
		request.AnnotationEnableHealthMonitor:         {first: "true", second: "false"},
		request.AnnotationHealthMonitorDelay:          {first: "10", second: "20", all: monitored},
		request.AnnotationHealthMonitorTimeout:        {first: "2", second: "4", all: monitored},
		request.AnnotationHealthMonitorMaxRetries:     {first: "2", second: "3", all: monitored},
		request.AnnotationHealthMonitorMaxRetriesDown: {first: "4", second: "5", all: monitored},
	}
}

// setting returns a change that sets an annotation, or removes it if there is no value.
func setting(name annotation.Name, value string) edit {
	return func(site *lbSite, service *v1.Service) {
		if value == "" {
			delete(service.Annotations, string(name))

			return
		}
		service.Annotations[string(name)] = site.expand(value)
	}
}

// liveChanges are all changes, by what changes.
func liveChanges() map[string]liveChange {
	all := map[string]liveChange{}
	for name, v := range liveAnnotations() {
		if v.first == "" {
			continue
		}
		for how, step := range map[string]struct {
			before, after string
			adjust        func(*liveChange)
		}{"set": {"", v.first, v.set}, "changed": {v.first, v.second, v.changed}, "removed": {v.first, "", v.removed}} {
			c := v.all
			c.begins = step.before != ""
			c.first, c.change = []edit{setting(name, step.before)}, []edit{setting(name, step.after)}
			if step.adjust != nil {
				step.adjust(&c)
			}
			all["annotation "+string(name)+" "+how] = c
		}
	}
	maps.Copy(all, liveFields())
	maps.Copy(all, livePorts())
	maps.Copy(all, liveKeys())

	return all
}

// fieldsWithoutChange are the fields of a Service without a change, with the reason.
func fieldsWithoutChange() map[string]string {
	const immutable = "Kubernetes does not allow to change it"

	return map[string]string{
		"type":              "the load balancer is deleted, which TestCrash has",
		"clusterIP":         immutable,
		"clusterIPs":        immutable,
		"loadBalancerClass": immutable,
		"externalName":      "Services of the type LoadBalancer have none",
		"ports":             "livePorts has the fields of a port",
	}
}

// keysWithoutChange are the keys of the cloud-config without a change, with the reason.
func keysWithoutChange() map[string]string {
	return map[string]string{
		"enabled":    "without it there is no controller of load balancers",
		"lb-version": "there is one",
	}
}

// field returns a change of the specification of a Service.
func field(change func(*v1.ServiceSpec)) edit {
	return func(_ *lbSite, service *v1.Service) { change(&service.Spec) }
}

// liveFields are changes of the fields of a Service.
func liveFields() map[string]liveChange {
	same := func(change func(*v1.ServiceSpec)) liveChange {
		return liveChange{scenario: scenario{change: []edit{field(change)}}, stays: staysNoEffect}
	}
	between := func(first, second func(*v1.ServiceSpec)) map[string]liveChange {
		return map[string]liveChange{
			"set":     {scenario: scenario{change: []edit{field(first)}}},
			"changed": {scenario: scenario{first: []edit{field(first)}, change: []edit{field(second)}}},
			"removed": {scenario: scenario{first: []edit{field(first)}, change: []edit{field(func(s *v1.ServiceSpec) {
				empty := v1.ServiceSpec{}
				s.LoadBalancerSourceRanges, s.LoadBalancerIP = empty.LoadBalancerSourceRanges, empty.LoadBalancerIP
			})}}},
		}
	}
	affinity := func(seconds int32) func(*v1.ServiceSpec) {
		return func(s *v1.ServiceSpec) {
			s.SessionAffinity = v1.ServiceAffinityClientIP
			s.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: &seconds}}
		}
	}
	none := func(s *v1.ServiceSpec) { s.SessionAffinity, s.SessionAffinityConfig = v1.ServiceAffinityNone, nil }
	local := edits(kubetest.LocalTraffic(30999))
	cluster := []edit{field(func(s *v1.ServiceSpec) {
		s.ExternalTrafficPolicy, s.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
	})}
	all := map[string]liveChange{
		"field externalTrafficPolicy Local":                   {scenario: scenario{config: withMonitors, change: local}},
		"field externalTrafficPolicy Cluster":                 {scenario: scenario{config: withMonitors, first: local, change: cluster}},
		"field externalTrafficPolicy Local, without monitors": {scenario: scenario{change: local}, event: request.LocalTrafficNotMonitored},
		"field healthCheckNodePort":                           {scenario: scenario{config: withMonitors, first: local, change: edits(kubetest.LocalTraffic(30998))}},
		"field sessionAffinity ClientIP":                      {scenario: scenario{change: []edit{field(affinity(60))}}},
		"field sessionAffinity None":                          {scenario: scenario{first: []edit{field(affinity(60))}, change: []edit{field(none)}}},
		"field sessionAffinityConfig":                         {scenario: scenario{first: []edit{field(affinity(60))}, change: []edit{field(affinity(90))}}},
		"field selector":                                      same(func(s *v1.ServiceSpec) { s.Selector = map[string]string{"app": "other"} }),
		"field externalIPs":                                   same(func(s *v1.ServiceSpec) { s.ExternalIPs = []string{"192.0.2.77"} }),
		"field publishNotReadyAddresses":                      same(func(s *v1.ServiceSpec) { s.PublishNotReadyAddresses = true }),
		"field ipFamilies":                                    same(func(s *v1.ServiceSpec) { s.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }),
		"field ipFamilyPolicy":                                same(func(s *v1.ServiceSpec) { s.IPFamilyPolicy = new(v1.IPFamilyPolicyPreferDualStack) }),
		"field internalTrafficPolicy":                         same(func(s *v1.ServiceSpec) { s.InternalTrafficPolicy = new(v1.ServiceInternalTrafficPolicyLocal) }),
		"field trafficDistribution":                           same(func(s *v1.ServiceSpec) { s.TrafficDistribution = new("PreferClose") }),
		"field allocateLoadBalancerNodePorts": {scenario: scenario{change: []edit{field(func(s *v1.ServiceSpec) {
			s.AllocateLoadBalancerNodePorts, s.Ports[1].NodePort = new(false), 0
		})}}, event: request.PortSkipped},
	}
	ranges := between(
		func(s *v1.ServiceSpec) { s.LoadBalancerSourceRanges = []string{"198.51.100.0/24"} },
		func(s *v1.ServiceSpec) { s.LoadBalancerSourceRanges = []string{"192.0.2.0/24", "198.51.100.0/25"} },
	)
	address := between(
		func(s *v1.ServiceSpec) { s.LoadBalancerIP = "203.0.113.71" },
		func(s *v1.ServiceSpec) { s.LoadBalancerIP = "203.0.113.72" },
	)
	inside := between(
		func(s *v1.ServiceSpec) { s.LoadBalancerIP = "10.9.0.77" },
		func(s *v1.ServiceSpec) { s.LoadBalancerIP = "10.9.0.78" },
	)
	for how, c := range ranges {
		all["field loadBalancerSourceRanges "+how] = c
	}
	for how, c := range address {
		c.stays, c.event = staysAddress, floatingip.AddressIgnored
		if how == "removed" {
			c.event = ""
		}
		all["field loadBalancerIP "+how] = c
		c = inside[how]
		c.stays, c.event = staysAddress, all["field loadBalancerIP "+how].event
		c.first = slices.Concat(c.first, edits(annotated(request.AnnotationInternal, "true")))
		all["field loadBalancerIP "+how+", internal"] = c
	}

	return all
}

// livePorts are changes of the ports of a Service, which has 80 and 443.
func livePorts() map[string]liveChange {
	ports := func(change func(*v1.ServiceSpec)) liveChange {
		return liveChange{scenario: scenario{config: withMonitors, change: []edit{field(change)}}}
	}
	same := func(change func(*v1.ServicePort)) liveChange {
		c := ports(func(s *v1.ServiceSpec) { change(&s.Ports[1]) })
		c.stays = staysNoEffect

		return c
	}
	swapped := ports(func(s *v1.ServiceSpec) { slices.Reverse(s.Ports) })
	swapped.stays = staysNames
	inserted := liveChange{scenario: scenario{config: withMonitors, change: edits(kubetest.Port(v1.ProtocolTCP, 8443))}}

	return map[string]liveChange{
		"port added":         inserted,
		"port removed":       ports(func(s *v1.ServiceSpec) { s.Ports = s.Ports[:1] }),
		"port port":          ports(func(s *v1.ServiceSpec) { s.Ports[1].Port = 8443 }),
		"port protocol UDP":  ports(func(s *v1.ServiceSpec) { s.Ports[1].Protocol = v1.ProtocolUDP }),
		"port protocol SCTP": ports(func(s *v1.ServiceSpec) { s.Ports[1].Protocol = v1.ProtocolSCTP }),
		"port nodePort":      ports(func(s *v1.ServiceSpec) { s.Ports[1].NodePort = 31443 }),
		"port nodePort all":  ports(func(s *v1.ServiceSpec) { s.Ports[0].NodePort, s.Ports[1].NodePort = 31080, 31443 }),
		"port nodePort swapped": ports(func(s *v1.ServiceSpec) {
			s.Ports[0].NodePort, s.Ports[1].NodePort = s.Ports[1].NodePort, s.Ports[0].NodePort
		}),
		"port name":        same(func(p *v1.ServicePort) { p.Name = "other" }),
		"port targetPort":  same(func(p *v1.ServicePort) { p.TargetPort = intstr.FromInt32(9) }),
		"port appProtocol": same(func(p *v1.ServicePort) { p.AppProtocol = new("https") }),
		"port order":       swapped,
	}
}

// liveKeys are changes of the cloud-config.
func liveKeys() map[string]liveChange {
	all := map[string]liveChange{}
	add := func(name, value string, adjust ...func(*liveChange)) {
		c := liveChange{scenario: scenario{after: name + " = " + value + "\n"}}
		for _, change := range adjust {
			change(&c)
		}
		all["key "+name] = c
	}
	notOVN := func(c *liveChange) { c.on = refusedBy("ovn") }
	monitored := func(c *liveChange) {
		c.config, c.after = withMonitors, withMonitors+c.after
	}
	add("lb-provider", "octavia", stay(staysFixed))
	add("lb-method", "LEAST_CONNECTIONS", func(c *liveChange) { c.on = noMethod })
	add("create-monitor", "true")
	add("monitor-delay", "30", monitored)
	add("monitor-timeout", "4", monitored)
	add("monitor-max-retries", "4", monitored)
	add("monitor-max-retries-down", "5", monitored)
	add("manage-security-groups", "true")
	add("internal-lb", "true", func(c *liveChange) { c.withdrawn = true })
	add("node-selector", "kubernetes.io/hostname=node-1")
	add("cascade-delete", "false", stay(staysNew))
	add("flavor-id", "$flavor1", stay(staysFixed))
	add("availability-zone", "$zone1", stay(staysFixed))
	add("enable-ingress-hostname", "true", stay(staysStatus))
	add("ingress-hostname-suffix", "example.com", stay(staysStatus))
	add("max-shared-lb", "1", stay(staysNew))
	add("container-store", "external", stay(staysNoEffect))
	add("default-tls-container-ref", "$secret1", gap(gapProtocol), notOVN)
	add("provider-requires-serial-api-calls", "true", stay(staysNames))
	add("floating-network-id", "$external", stay(staysPublic))
	add("floating-subnet-id", "$outside1", stay(staysPublic))
	add("floating-subnet", "first", stay(staysPublic))
	add("floating-subnet-tags", "first", stay(staysPublic))
	add("network-id", "$other-network", stay(staysFixed))
	add("subnet-id", "$other-subnet", stay(staysFixed))
	add("member-subnet-id", "$other-subnet", stay(staysMembers))
	off := liveChange{scenario: scenario{config: "manage-security-groups = true\n", after: "manage-security-groups = false\n", ungroups: true}}
	all["key manage-security-groups off"] = off

	return all
}
