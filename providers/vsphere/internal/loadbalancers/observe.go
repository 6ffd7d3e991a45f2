package loadbalancers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/policy"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// observe returns what a search shows of a Service.
func (l *LoadBalancers) observe(ctx context.Context, cluster string, svc *v1.Service) (*observed, error) {
	settings := &l.config.Settings
	names := settings.NamesOf(cluster, svc)
	o := &observed{names: names, certain: map[string]bool{}, others: map[string]bool{}, lbServices: map[string]*policy.Object{}}
	for _, ingress := range svc.Status.LoadBalancer.Ingress {
		o.status = append(o.status, ingress.IP)
	}
	objects, lbServices, err := l.snapshot.of(ctx, names, l.snapshot.searched)
	if err == nil && o.misses(objects) {
		var listed map[string]*policy.Object
		listed, lbServices, err = l.snapshot.of(ctx, names, l.snapshot.listed)
		maps.Copy(objects, listed)
	}
	if err != nil {
		return nil, err
	}
	o.objects = objects
	if settings.LBServiceID != "" {
		o.lbService = policy.CollectionPath(policy.LBServices, "") + "/" + settings.LBServiceID

		return o, nil
	}
	for path, s := range lbServices {
		if s.ConnectivityPath == settings.Tier1 {
			o.lbServices[path] = s
		}
	}
	derived := names.Owner.LBServicePath(settings.Tier1)
	if o.atGateway, err = l.atGateway(ctx, o, derived); err != nil {
		return nil, err
	}
	o.lbService = o.chooseLBService(derived)

	return o, nil
}

// misses reports whether objects lack a virtual server that exists for all that is known: one with an
// address in the status, or with that of an allocation of the upstream controller manager. Its IDs are
// random, so that the virtual server cannot be read by its path.
func (o *observed) misses(objects map[string]*policy.Object) bool {
	served, allocated := sets.New(""), false
	for _, object := range objects {
		served.Insert(object.IPAddress)
		allocated = allocated || object.Kind == policy.Allocations && !o.names.IsDerived(object)
	}

	return !served.HasAll(o.status...) || allocated && len(served) == 1
}

// atGateway returns the LBServices of others at the tier-1 gateway that virtual servers of a
// Service are in. Each LBService is read once.
func (l *LoadBalancers) atGateway(ctx context.Context, o *observed, derived string) (map[string]bool, error) {
	found := map[string]bool{}
	for _, path := range pathsOf(o.objects) {
		used := o.objects[path].LBServicePath
		if used == "" || used == derived || o.lbServices[used] != nil {
			continue
		}
		at, known := l.gateways.Load(used)
		if !known {
			raw, err := l.api.Get(ctx, used)
			if err != nil && !errors.Is(err, apierr.ErrNotFound) {
				return nil, err
			}
			s, _ := policy.Read(used, raw)
			at = s.ConnectivityPath
			l.gateways.Store(used, at)
		}
		found[used] = at == l.config.Settings.Tier1
	}

	return found, nil
}

// chooseLBService returns the LBService of the cluster: that of the virtual servers of the
// Service, or any, or a new one.
func (o *observed) chooseLBService(derived string) string {
	for _, path := range pathsOf(o.objects) {
		if used := o.objects[path].LBServicePath; o.lbServices[used] != nil || o.atGateway[used] {
			return used
		}
	}
	for _, path := range pathsOf(o.lbServices) {
		return path
	}

	return derived
}

// store keeps an object that was read or written, nil for none. One of others is not kept.
func (o *observed) store(path string, object *policy.Object) {
	o.certain[path] = true
	delete(o.objects, path)
	delete(o.lbServices, path)
	delete(o.others, path)
	switch {
	case object == nil || object.Deleting:
	case !o.names.Owner.IsOf(object):
		o.others[path] = true
	case object.Kind == policy.LBServices:
		o.lbServices[path] = object
	case object.Service() == o.names.String():
		o.objects[path] = object
	default:
		o.others[path] = true
	}
}

// has reports whether there is an object of the Service or of its cluster at a path.
func (o *observed) has(path string) bool { return o.objects[path] != nil || o.lbServices[path] != nil }

// isPublished reports whether the status of the Service has its addresses.
func (o *observed) isPublished() bool {
	return slices.Equal(o.status, o.parts().addresses()) && len(o.status) > 0
}

// checkLBService returns an error if the LBService cannot be used: one that people manage must
// be at the tier-1 gateway that the cloud-config names, and a gateway with one of others gets
// none.
func (l *LoadBalancers) checkLBService(ctx context.Context, o *observed, d *desired) error {
	settings := &l.config.Settings
	if _, checked := l.checked.Load(o.lbService); checked || settings.LBServiceID == "" && d.newLBService == nil {
		return nil
	}
	if settings.LBServiceID == "" {
		return l.checkGateway(ctx, o)
	}
	raw, err := l.api.Get(ctx, o.lbService)
	if errors.Is(err, apierr.ErrNotFound) {
		return apierr.Mark(apierr.ErrInvalid, fmt.Errorf("load balancer service %q of lb-service-id does not exist", settings.LBServiceID))
	}
	if err != nil {
		return err
	}
	found, err := policy.Read(o.lbService, raw)
	if err != nil {
		return err
	}
	if settings.Tier1 != "" && found.ConnectivityPath != settings.Tier1 {
		return apierr.Mark(apierr.ErrInvalid, fmt.Errorf("load balancer service %q is configured for router %q not %q",
			settings.LBServiceID, found.ConnectivityPath, settings.Tier1))
	}
	l.checked.Store(o.lbService, nil)

	return nil
}

// checkGateway returns an error if a tier-1 gateway has an LBService of others.
func (l *LoadBalancers) checkGateway(ctx context.Context, o *observed) error {
	rows, err := l.api.List(ctx, policy.CollectionPath(policy.LBServices, ""))
	if err != nil {
		return err
	}
	for _, row := range rows {
		switch found, _ := policy.Read("", row); { // whatever else those of others have
		case found.ConnectivityPath != l.config.Settings.Tier1 || found.Deleting || found.Path == o.lbService:
		case !o.names.Owner.IsOf(found):
			return apierr.Mark(apierr.ErrConflict, fmt.Errorf("tier-1 gateway %s has the load balancer service %s of others: set lb-service-id to use it",
				l.config.Settings.Tier1, found.Path))
		}
	}

	return nil
}

// resolve returns the paths of what the class of a Service names. The pools of addresses that
// exist are not looked up.
func (l *LoadBalancers) resolve(ctx context.Context, o *observed, r *request.Request) input {
	in := input{settings: &l.config.Settings, request: r, ipPools: map[address.Family]string{}, profiles: map[string]string{}}
	if in.refused = cmp.Or(r.Refused, o.checkPlace()); in.refused != nil {
		return in
	}
	for _, port := range r.Ports {
		ref, resourceType := r.Class.TCP, policy.TypeTCPProfile
		if port.Protocol == v1.ProtocolUDP {
			ref, resourceType = r.Class.UDP, policy.TypeUDPProfile
		}
		profile, err := l.names.profile(ctx, ref, resourceType)
		if errors.Is(err, apierr.ErrInvalid) {
			in.refused = errors.Join(in.refused, err)
		}
		in.profiles[string(port.Protocol)], in.unknown = profile, errors.Join(in.unknown, err)
	}
	if len(o.parts().addresses()) >= len(r.Families) {
		return in
	}
	for _, family := range r.Families {
		id, err := l.names.ipPool(ctx, r.Class.Pool(family))
		in.ipPools[family], in.refused = id, errors.Join(in.refused, err)
	}

	return in
}

// probe reads objects that a search may not show yet: the allocations that a new load
// balancer begins with, and if there is anything, all others that it has.
func (l *LoadBalancers) probe(ctx context.Context, o *observed, svc *v1.Service) error {
	pools, err := l.names.configured(ctx)
	if err != nil {
		return err
	}
	var paths []string
	for _, pool := range pools {
		for _, second := range []address.Family{"", address.IPv4, address.IPv6} {
			if second == "" || len(svc.Spec.IPFamilies) > 1 && strings.EqualFold(string(svc.Spec.IPFamilies[1]), string(second)) {
				paths = append(paths, o.names.AllocationPath(pool, second))
			}
		}
	}
	if err := l.readMissing(ctx, o, paths); err != nil || o.isEmpty() {
		return err
	}

	paths = o.derived(svc)
	if l.config.Settings.LBServiceID == "" {
		paths = append(paths, o.lbService)
	}

	return l.readMissing(ctx, o, paths)
}

// readMissing reads the objects that are not known.
func (l *LoadBalancers) readMissing(ctx context.Context, o *observed, paths []string) error {
	return l.read(ctx, o, slices.DeleteFunc(slices.Clone(paths), o.has))
}

// derived returns the paths of the objects that the load balancer of a Service has.
func (o *observed) derived(svc *v1.Service) []string {
	paths := []string{o.names.GroupPath()}
	for _, served := range svc.Spec.Ports {
		families := []address.Family{""}
		if len(svc.Spec.IPFamilies) > 1 {
			families = append(families, address.Family(strings.ToLower(string(svc.Spec.IPFamilies[1]))))
		}
		for _, second := range families {
			port := policy.Port{Protocol: served.Protocol, Port: served.Port, Family: second}
			paths = append(paths, o.names.PartPath(policy.VirtualServers, port), o.names.PartPath(policy.Pools, port),
				o.names.MonitorPath(policy.TypeTCPMonitor, port), o.names.MonitorPath(policy.TypeHTTPMonitor, port))
		}
	}

	return paths
}
