package openstack

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/subnetpattern"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

func balancerName(key string) config.Name { return config.Name{Section: "LoadBalancer", Key: key} }

// balancerf warns of a key that some load balancers cannot be made with. It is no error:
// Nodes and other Services do not depend on it.
func (r *resolver) balancerf(key, format string, args ...any) {
	r.Warnf(balancerName(key), format, args...)
}

// checkLoadBalancer validates the settings of load balancers, and sets defaults.
func (r *resolver) checkLoadBalancer() {
	l := &r.config.LoadBalancer
	if l.LBVersion != "" && l.LBVersion != lbVersion2 {
		r.Errorf(balancerName("lb-version"), "%q is not %s, which is the only version", l.LBVersion, lbVersion2)
	}
	config.Default(r.Resolver, balancerName("lb-version"), &l.LBVersion, lbVersion2)
	if known := []string{"", "amphora", "octavia", providerOVN, "f5", "amphorav2"}; !slices.Contains(known, l.LBProvider) {
		r.balancerf("lb-provider", "%q is not a provider that this version was made for, which are %s", l.LBProvider, strings.Join(known[1:], ", "))
	}
	r.config.methodSet = l.LBMethod != ""
	config.Default(r.Resolver, balancerName("lb-method"), &l.LBMethod, r.config.method(l.LBProvider))
	r.checkMethod()
	config.Default(r.Resolver, balancerName("ingress-hostname-suffix"), &l.IngressHostnameSuffix, defaultIngressSuffix)
	if l.MaxSharedLB < 0 {
		r.balancerf("max-shared-lb", "%d is less than zero: no load balancer can be shared", l.MaxSharedLB)
	}
	r.checkNodeSelector()
	r.checkContainerStore()
}

// checkMethod warns of an algorithm that Octavia or the provider does not have
// (octavia: lib/common/constants.py; ovn-octavia-provider: common/constants.py).
func (r *resolver) checkMethod() {
	l := r.config.LoadBalancer
	methods := []string{defaultLBMethod, "LEAST_CONNECTIONS", "SOURCE_IP", defaultOVNMethod}
	switch {
	case !slices.Contains(methods, l.LBMethod):
		r.balancerf("lb-method", "%q is not an algorithm of Octavia, which are %s", l.LBMethod, strings.Join(methods, ", "))
	case l.LBProvider == providerOVN && !strings.HasPrefix(l.LBMethod, "SOURCE_IP"):
		r.balancerf("lb-method", "the provider %s does not have %s: set %s", providerOVN, l.LBMethod, defaultOVNMethod)
	}
}

// checkNodeSelector warns of labels that no Node can have.
func (r *resolver) checkNodeSelector() {
	for item := range strings.SplitSeq(r.config.LoadBalancer.NodeSelector, ",") {
		key, _, _ := strings.Cut(strings.TrimSpace(item), "=")
		if key = strings.TrimSpace(key); key == "" {
			continue
		}
		if problems := content.IsLabelKey(key); len(problems) > 0 {
			r.balancerf("node-selector", "%q is no label, so that load balancers have no members: %s", key, strings.Join(problems, "; "))
		}
	}
}

func (r *resolver) checkContainerStore() {
	l := r.config.LoadBalancer
	switch l.ContainerStore {
	case storeBarbican:
		if ref := l.DefaultTLSContainerRef; ref != "" && !barbicanRef.MatchString(ref) {
			r.balancerf("default-tls-container-ref", "it does not end in containers/<id> or secrets/<id>, as references to Barbican do")
		}
	case storeExternal:
	default:
		r.balancerf("container-store", "%q is neither %s nor %s: references to TLS certificates are not validated", l.ContainerStore, storeBarbican, storeExternal)
	}
}

// barbicanRef matches the end of a reference to a secret of Barbican.
var barbicanRef = regexp.MustCompile(`(^|/)(containers|secrets)/[^/]+$`)

// checkMonitor warns of health monitors that Octavia refuses (octavia:
// api/v2/types/health_monitor.py, common/config.py
// udp_connect_min_interval_health_monitor).
func (r *resolver) checkMonitor() {
	const mostRetries, leastUDPDelay = 10, 3
	l := r.config.LoadBalancer
	for _, retries := range []struct {
		key   string
		value uint
	}{{"monitor-max-retries", l.MonitorMaxRetries}, {"monitor-max-retries-down", l.MonitorMaxRetriesDown}} {
		if retries.value < 1 || retries.value > mostRetries {
			r.balancerf(retries.key, "%d is not from 1 to %d: Octavia refuses health monitors", retries.value, mostRetries)
		}
	}
	for _, span := range []struct {
		key   string
		value Duration
	}{{"monitor-delay", l.MonitorDelay}, {"monitor-timeout", l.MonitorTimeout}} {
		whole := time.Duration(span.value.Seconds()) * time.Second
		switch {
		case span.value.Seconds() < 1:
			r.balancerf(span.key, "%s is less than a second: Octavia refuses health monitors", span.value)
		case time.Duration(span.value) != whole:
			r.balancerf(span.key, "%s is not a number of whole seconds: %s is used", span.value, whole)
		}
	}
	if delay := l.MonitorDelay.Seconds(); delay >= 1 && delay < leastUDPDelay {
		r.balancerf("monitor-delay", "%s is less than %d seconds: Octavia refuses health monitors of UDP ports", l.MonitorDelay, leastUDPDelay)
	}
	if l.MonitorTimeout.Seconds() > l.MonitorDelay.Seconds() {
		r.balancerf("monitor-timeout", "%s is longer than monitor-delay, which is %s", l.MonitorTimeout, l.MonitorDelay)
	}
}

// checkNetworks warns of IDs that are none, and of classes that no Service can select.
func (r *resolver) checkNetworks() {
	r.checkID(config.Name{Section: "Route", Key: "router-id"}, r.config.Route.RouterID)
	r.checkNetworkIDs(config.Name{Section: "LoadBalancer"}, r.config.LoadBalancer.Networks)
	for _, name := range slices.Sorted(maps.Keys(r.config.LoadBalancerClass)) {
		section := config.Name{Section: "LoadBalancerClass", Sub: name}
		if name == "" {
			r.Warnf(section, "it has no name in quotes: no Service can select it")
		}
		r.checkNetworkIDs(section, r.config.LoadBalancerClass[name].Networks)
	}
}

func (r *resolver) checkNetworkIDs(section config.Name, n Networks) {
	for _, id := range []struct{ key, value string }{
		{"floating-network-id", n.FloatingNetworkID},
		{"floating-subnet-id", n.FloatingSubnetID},
		{"network-id", n.NetworkID},
		{"subnet-id", n.SubnetID},
		{"member-subnet-id", n.MemberSubnetID},
	} {
		section.Key = id.key
		r.checkID(section, id.value)
	}
	for _, selection := range []struct{ key, name, tags string }{
		{key: "floating-subnet", name: n.FloatingSubnet}, {key: "floating-subnet-tags", tags: n.FloatingSubnetTags},
	} {
		section.Key = selection.key
		if err := subnetpattern.Check(selection.name, selection.tags); err != nil {
			r.Warnf(section, "no floating IP can be created: %v", err)
		}
	}
	if n.FloatingSubnetID != "" && (n.FloatingSubnet != "" || n.FloatingSubnetTags != "") {
		section.Key = "floating-subnet-id"
		r.Warnf(section, "floating-subnet and floating-subnet-tags are ignored: it takes precedence")
	}
}

func (r *resolver) checkID(name config.Name, id string) {
	if id != "" && !uuid.IsID(id) {
		r.Warnf(name, "%q is not an ID, which is a UUID", id)
	}
}

// checkMetadata validates what has no effect as the existing controller manager does,
// and sets the timeout of requests.
func (r *resolver) checkMetadata() {
	m := &r.config.Metadata
	name := config.Name{Section: "Metadata", Key: "search-order"}
	if err := checkSearchOrder(m.SearchOrder); err != nil {
		r.Errorf(name, "%v", err)
	}
	name.Key = "request-timeout"
	if m.RequestTimeout < 0 {
		r.Errorf(name, "%s is less than zero", m.RequestTimeout)
	}
	config.Default(r.Resolver, name, &m.RequestTimeout, defaultRequestTimeout)
}

func checkSearchOrder(order string) error {
	const places = 2
	items := strings.Split(order, ",")
	if len(items) > places {
		return fmt.Errorf("%q has more than %d items", order, places)
	}
	for _, item := range items {
		if item = strings.TrimSpace(item); item != "configDrive" && item != "metadataService" {
			return fmt.Errorf("%q is neither configDrive nor metadataService", item)
		}
	}

	return nil
}
