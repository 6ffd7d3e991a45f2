package loadbalancers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

// The annotations of the in-memory cloud.
const (
	annotationClass    = "sim.example/class"
	annotationInternal = "sim.example/internal"
	annotationRefused  = "sim.example/refused"
	annotationNote     = "sim.example/note" // written by a provider that notes what it makes
)

// faults are what can be wrong in balancers.
type faults struct {
	endless       bool // ignores cancellation and has no deadline
	unlocked      bool // makes two changes of one Service at a time
	duplicates    bool // creates another balancer when there is no response about the first
	unowned       bool // treats the balancers of other clusters as its own
	shallow       bool // GetLoadBalancer reads the balancer alone
	premature     bool // deletes no rules of a balancer that does not exist
	byPrefix      bool // deletes rules by the prefix of their owner's name
	ignoresErrors bool // ignores errors of listeners
	rewrites      bool // writes listeners that are as they should be
	keepsRules    bool // removes no rules that are stale
	shared        bool // rules have no owner
	upserts       bool // UpdateLoadBalancer creates what is missing
	early         bool // changes rules before it validates the Service
	assumes       bool // notes that an operation is done before it is
	complete      bool // finds only balancers with ports
	narrow        bool // deletes the rules of the Service's ports alone
	keepsFamily   bool // removes no address
	all           bool // registers all nodes, whatever number is requested
	forgets       bool // chooses targets without those that serve
}

// balancers are the load balancers of a provider over the in-memory cloud.
type balancers struct {
	faults
	cloud   *cloud
	timeout time.Duration
	sparse  bool // supports TCP alone and nothing special
	waiting bool // requests to be called again after each write of a balancer
	noting  bool // writes a note into a Service, and needs it if there is a balancer
	want    func(*model)

	mu    sync.Mutex
	locks map[string]chan struct{}
}

var _ cloudprovider.LoadBalancer = (*balancers)(nil)

// observed is what exists of a Service.
type observed struct {
	balancer *balancer // nil if there is none of ours
	rules    []rule
	running  []string
}

// begin returns the context of a call with the Service's lock.
func (s *balancers) begin(ctx context.Context, service *v1.Service) (context.Context, func(), error) {
	if s.endless {
		return context.WithoutCancel(ctx), func() {}, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	if s.unlocked {
		return ctx, cancel, nil
	}
	s.mu.Lock()
	lock, ok := s.locks[service.Name]
	if !ok {
		lock = make(chan struct{}, 1)
		s.locks[service.Name] = lock
	}
	s.mu.Unlock()
	select {
	case lock <- struct{}{}:
		return ctx, func() { <-lock; cancel() }, nil
	case <-ctx.Done():
		cancel()

		return nil, nil, ctx.Err()
	}
}

// owner is the owner that rules name.
func (s *balancers) owner(cluster string, service *v1.Service) string {
	if s.shared {
		return cluster
	}

	return cluster + "/" + cloudprovider.DefaultLoadBalancerName(service)
}

// observe reads what there is.
func (s *balancers) observe(ctx context.Context, cluster string, service *v1.Service) (observed, error) {
	lb, err := s.cloud.balancer(ctx, cloudprovider.DefaultLoadBalancerName(service))
	if err != nil {
		return observed{}, err
	}
	if lb != nil && (lb.cluster != cluster && !s.unowned || s.complete && len(lb.listeners) == 0) {
		lb = nil
	}
	rules, running, err := s.cloud.ruleList(ctx)
	if err != nil {
		return observed{}, err
	}
	owner := s.owner(cluster, service)

	return observed{lb, slices.DeleteFunc(rules, func(r rule) bool {
		return r.owner != owner && (!s.byPrefix || !strings.HasPrefix(r.owner, owner))
	}), running}, nil
}

// isTarget reports whether a machine is behind the load balancer.
func (o observed) isTarget(id string) bool {
	if o.balancer == nil {
		return false
	}
	for _, l := range o.balancer.listeners {
		if slices.Contains(l.targets, id) {
			return true
		}
	}

	return false
}

func (s *balancers) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

func (s *balancers) GetLoadBalancer(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	ctx, end, err := s.begin(ctx, service)
	if err != nil {
		return nil, false, err
	}
	defer end()
	seen, err := s.observe(ctx, cluster, service)
	if err != nil {
		return nil, false, err
	}
	if seen.balancer == nil {
		return &v1.LoadBalancerStatus{}, len(seen.rules) > 0 && !s.shallow, nil
	}

	return seen.balancer.status(), true, nil
}

// status is the status of the Service.
func (lb *balancer) status() *v1.LoadBalancerStatus {
	status := &v1.LoadBalancerStatus{}
	for _, address := range lb.addresses() {
		status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{Hostname: address})
	}

	return status
}

func (s *balancers) EnsureLoadBalancer(
	ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node,
) (*v1.LoadBalancerStatus, error) {
	if service.Annotations[annotationClass] == "unmanaged" {
		return nil, cloudprovider.ImplementedElsewhere
	}
	ctx, end, err := s.begin(ctx, service)
	if err != nil {
		return nil, err
	}
	defer end()
	lb, err := s.apply(ctx, cluster, service, nodes, true)
	if err != nil {
		return nil, fmt.Errorf("ensure load balancer: %w", err)
	}

	return lb.status(), nil
}

func (s *balancers) UpdateLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
	if service.Annotations[annotationClass] == "unmanaged" {
		return cloudprovider.ImplementedElsewhere
	}
	ctx, end, err := s.begin(ctx, service)
	if err != nil {
		return err
	}
	defer end()
	if _, err := s.apply(ctx, cluster, service, nodes, s.upserts); err != nil {
		return fmt.Errorf("update load balancer: %w", err)
	}

	return nil
}

// apply changes what exists to what is wanted.
func (s *balancers) apply(
	ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node, create bool,
) (*balancer, error) {
	seen, err := s.observe(ctx, cluster, service)
	if err != nil {
		return nil, err
	}
	if s.early && len(seen.rules) > 0 {
		_ = s.cloud.changeRules(ctx, nil, seen.rules[:1])
	}
	want, err := s.build(cluster, service, nodes, seen)
	if err != nil {
		return nil, err
	}
	lb := seen.balancer
	if err := s.note(cluster, service, lb); err != nil {
		return nil, err
	}
	if lb == nil {
		if !create {
			return nil, apierr.Mark(apierr.ErrNotFound, sim.ErrMissing)
		}
		if lb, err = s.create(ctx, want); err != nil {
			return nil, err
		}
	}

	if s.assumed(want) {
		return lb, nil
	}

	want.dual = want.dual || s.keepsFamily && lb.dual
	err = s.converge(ctx, want, lb, seen.rules)
	lb.dual = want.dual

	return lb, err
}

// assumed reports whether this was done before, and notes that it is done now.
func (s *balancers) assumed(want *model) bool {
	if !s.assumes {
		return false
	}
	s.cloud.Lock()
	defer s.cloud.Unlock()
	text := fmt.Sprintf("%v %v", want.listeners, want.rules)
	done := s.cloud.notes[want.name] == text
	s.cloud.notes[want.name] = text

	return done
}

// note writes into a Service that it has a balancer, and must find that there
// when it has.
func (s *balancers) note(cluster string, service *v1.Service, lb *balancer) error {
	if !s.noting {
		return nil
	}
	if lb != nil && service.Annotations[annotationNote] == "" {
		return errors.New("the Service has no note of its load balancer")
	}
	s.cloud.Lock()
	defer s.cloud.Unlock()
	stored := s.cloud.stored[cluster+"/"+service.Name]
	if stored == nil || stored.UID != service.UID {
		return errors.New("the Kubernetes API does not have the Service")
	}
	metav1.SetMetaDataAnnotation(&stored.ObjectMeta, annotationNote, "yes")

	return nil
}

func (s *balancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *v1.Service) error {
	if service.Annotations[annotationClass] == "unmanaged" {
		return nil
	}
	ctx, end, err := s.begin(ctx, service)
	if err != nil {
		return err
	}
	defer end()
	seen, err := s.observe(ctx, cluster, service)
	if err != nil {
		return fmt.Errorf("delete load balancer: %w", err)
	}
	if seen.balancer == nil && s.premature {
		return nil
	}
	if seen.balancer != nil {
		if err := s.cloud.deleteBalancer(ctx, seen.balancer.name); err != nil && !errors.Is(err, apierr.ErrNotFound) {
			return err
		}
		if s.waiting {
			return api.NewRetryError("the load balancer is not gone yet", time.Second)
		}
	}
	rules := seen.rules
	if s.narrow {
		rules = slices.DeleteFunc(rules, func(r rule) bool { return !hasNodePort(service, r.nodePort) })
	}
	if len(rules) > 0 {
		if err := s.cloud.changeRules(ctx, nil, rules); err != nil {
			return err
		}
	}
	s.cloud.Lock()
	defer s.cloud.Unlock()
	delete(s.cloud.notes, cloudprovider.DefaultLoadBalancerName(service))

	return nil
}

// hasNodePort reports whether a node port is one of the Service's.
func hasNodePort(service *v1.Service, nodePort int32) bool {
	return slices.ContainsFunc(service.Spec.Ports, func(p v1.ServicePort) bool { return p.NodePort == nodePort })
}
