package conformance

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
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lbname"
)

// The annotations of the cloud in memory.
const (
	simClass    = "sim.example/class"
	simInternal = "sim.example/internal"
	simRefused  = "sim.example/refused"
	simNote     = "sim.example/note" // written by a provider that notes what it makes
)

// sloppiness is what can be wrong inside of simBalancers.
type sloppiness struct {
	deaf       bool // does not hear that its caller gave up
	unlocked   bool // works on one Service twice at a time
	twins      bool // makes another balancer when the cloud keeps quiet about the first
	unowned    bool // takes the balancers of other clusters for its own
	shallow    bool // GetLoadBalancer looks at the balancer alone
	hasty      bool // deletes no rules of a balancer that is not there
	greedy     bool // deletes rules by the beginning of their owner's name
	swallows   bool // takes a listener that failed for made
	rewrites   bool // writes listeners that are as they should be
	keepsRules bool // removes no rules that are stale
	keepsPorts bool // removes no listeners that are stale
	trusting   bool // makes targets of all nodes
	shared     bool // rules have no owner
	adopts     bool // UpdateLoadBalancer makes what is missing
	heals      bool // makes a balancer again that is lost while it works
	forgetful  bool // remembers the balancers that were there, and never looks again
	rash       bool // changes rules before it looks whether the Service is valid
	presumes   bool // notes that work is done before it is
	ripe       bool // knows only balancers with ports
	narrow     bool // deletes the rules of the Service's ports alone
}

// simBalancers are the load balancers of a provider over the cloud in memory.
type simBalancers struct {
	sloppiness
	cloud   *simCloud
	timeout time.Duration
	sparse  bool // serves TCP alone and nothing special
	patient bool // asks to be called again after each write of a balancer
	noting  bool // writes a note into a Service, and knows only balancers that have one
	want    func(*simWanted)

	mu    sync.Mutex
	locks map[string]chan struct{}
	known map[string]*simBalancer
}

var _ cloudprovider.LoadBalancer = (*simBalancers)(nil)

// simSeen is what there is of it.
type simSeen struct {
	balancer *simBalancer // nil if there is none of ours
	rules    []simRule
	running  []string
}

// begin gives a call its deadline and the Service's lock.
func (s *simBalancers) begin(ctx context.Context, service *v1.Service) (context.Context, func(), error) {
	if s.deaf {
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

// owner is what rules carry.
func (s *simBalancers) owner(cluster string, service *v1.Service) string {
	if s.shared {
		return cluster
	}

	return cluster + "/" + lbname.ByUID(service)
}

// observe reads what there is.
func (s *simBalancers) observe(ctx context.Context, cluster string, service *v1.Service) (simSeen, error) {
	lb, err := s.cloud.balancer(ctx, lbname.ByUID(service))
	if err != nil {
		return simSeen{}, err
	}
	if lb != nil && (lb.cluster != cluster && !s.unowned || s.ripe && len(lb.listeners) == 0) {
		lb = nil
	}
	rules, running, err := s.cloud.ruleList(ctx)
	if err != nil {
		return simSeen{}, err
	}
	owner := s.owner(cluster, service)

	return simSeen{lb, slices.DeleteFunc(rules, func(r simRule) bool {
		return r.owner != owner && (!s.greedy || !strings.HasPrefix(r.owner, owner))
	}), running}, nil
}

func (s *simBalancers) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return lbname.ByUID(service)
}

func (s *simBalancers) GetLoadBalancer(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
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

// status is what the Service is told.
func (lb *simBalancer) status() *v1.LoadBalancerStatus {
	return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: lb.address}}}
}

func (s *simBalancers) EnsureLoadBalancer(
	ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node,
) (*v1.LoadBalancerStatus, error) {
	if service.Annotations[simClass] == "elsewhere" {
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

func (s *simBalancers) UpdateLoadBalancer(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
	if service.Annotations[simClass] == "elsewhere" {
		return cloudprovider.ImplementedElsewhere
	}
	ctx, end, err := s.begin(ctx, service)
	if err != nil {
		return err
	}
	defer end()
	if _, err := s.apply(ctx, cluster, service, nodes, s.adopts); err != nil {
		return fmt.Errorf("update load balancer: %w", err)
	}

	return nil
}

// apply makes of what there is what is wanted.
func (s *simBalancers) apply(
	ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node, create bool,
) (*simBalancer, error) {
	seen, err := s.observe(ctx, cluster, service)
	if err != nil {
		return nil, err
	}
	if s.rash && len(seen.rules) > 0 {
		_ = s.cloud.changeRules(ctx, nil, seen.rules[:1])
	}
	want, err := s.model(cluster, service, nodes, seen.running)
	if err != nil {
		return nil, err
	}
	lb := s.recall(want.name, seen.balancer)
	if err := s.note(cluster, service, lb); err != nil {
		return nil, err
	}
	if lb == nil {
		if !create {
			return nil, apierr.Mark(apierr.ErrNotFound, errMissing)
		}
		if lb, err = s.create(ctx, want); err != nil {
			return nil, err
		}
		s.recall(want.name, lb)
	}

	if s.presumed(want) {
		return lb, nil
	}

	return lb, s.converge(ctx, want, lb, seen.rules)
}

// presumed says that this was done before, and notes that it is done now.
func (s *simBalancers) presumed(want *simWanted) bool {
	if !s.presumes {
		return false
	}
	s.cloud.mu.Lock()
	defer s.cloud.mu.Unlock()
	text := fmt.Sprintf("%v %v", want.listeners, want.rules)
	done := s.cloud.notes[want.name] == text
	s.cloud.notes[want.name] = text

	return done
}

// note writes into a Service that it has a balancer, and must find that there
// when it has.
func (s *simBalancers) note(cluster string, service *v1.Service, lb *simBalancer) error {
	if !s.noting {
		return nil
	}
	if lb != nil && service.Annotations[simNote] == "" {
		return errors.New("the Service does not say that it has a load balancer")
	}
	s.cloud.mu.Lock()
	defer s.cloud.mu.Unlock()
	stored := s.cloud.stored[cluster+"/"+service.Name]
	if stored == nil || stored.UID != service.UID {
		return errors.New("the Kubernetes API does not have the Service")
	}
	metav1.SetMetaDataAnnotation(&stored.ObjectMeta, simNote, "yes")

	return nil
}

// recall gives the balancer that was seen, or by a forgetful provider the one
// that was seen first.
func (s *simBalancers) recall(name string, seen *simBalancer) *simBalancer {
	if !s.forgetful {
		return seen
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[name] == nil {
		s.known[name] = seen
	}

	return s.known[name]
}

// create makes the balancer, or takes the one that is there and ours.
func (s *simBalancers) create(ctx context.Context, want *simWanted) (*simBalancer, error) {
	err := s.cloud.createBalancer(ctx, simBalancer{
		name: want.name, cluster: want.cluster, internal: want.internal, affinity: want.affinity,
	}, s.twins)
	if err != nil && s.twins {
		err = s.cloud.createBalancer(ctx, simBalancer{name: want.name, cluster: want.cluster}, true)
	}
	if err != nil && !errors.Is(err, apierr.ErrConflict) {
		return nil, err
	}
	lb, err := s.cloud.balancer(ctx, want.name)
	if err == nil && (lb == nil || lb.cluster != want.cluster) {
		err = apierr.Mark(apierr.ErrConflict, errors.New("the load balancer is somebody else's"))
	}
	if err == nil && s.patient {
		err = api.NewRetryError("the load balancer is not ready yet", time.Second)
	}

	return lb, err
}

// converge brings rules and listeners into line, what is new first.
func (s *simBalancers) converge(ctx context.Context, want *simWanted, lb *simBalancer, rules []simRule) error {
	if lb.affinity != want.affinity {
		err := s.cloud.changeBalancer(ctx, want.name, func(lb *simBalancer) error {
			lb.affinity = want.affinity

			return nil
		})
		if err != nil {
			return err
		}
	}
	missing := slices.DeleteFunc(slices.Clone(want.rules), func(r simRule) bool { return slices.Contains(rules, r) })
	stale := slices.DeleteFunc(slices.Clone(rules), func(r simRule) bool { return slices.Contains(want.rules, r) || s.keepsRules })
	if len(missing) > 0 {
		if err := s.cloud.changeRules(ctx, missing, nil); err != nil {
			return err
		}
	}
	if err := s.listeners(ctx, want, lb); err != nil {
		return err
	}
	if len(stale) > 0 {
		return s.cloud.changeRules(ctx, nil, stale)
	}

	return nil
}

// listeners brings the listeners into line.
func (s *simBalancers) listeners(ctx context.Context, want *simWanted, lb *simBalancer) error {
	for _, port := range sortedPorts(lb.listeners) {
		if _, ok := want.listeners[port]; ok || s.keepsPorts {
			continue
		}
		err := s.cloud.changeBalancer(ctx, want.name, func(lb *simBalancer) error {
			delete(lb.listeners, port)

			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, port := range sortedPorts(want.listeners) {
		wanted, seen := want.listeners[port], lb.listeners[port]
		same := seen.nodePort == wanted.nodePort && seen.health == wanted.health && slices.Equal(seen.targets, wanted.targets)
		if same && !s.rewrites {
			continue
		}
		err := s.cloud.putListener(ctx, want.name, port, wanted)
		if s.heals && errors.Is(err, apierr.ErrNotFound) {
			if _, err = s.create(ctx, want); err == nil {
				err = s.cloud.putListener(ctx, want.name, port, wanted)
			}
		}
		if err != nil && !s.swallows {
			return err
		}
	}

	return nil
}

func (s *simBalancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *v1.Service) error {
	if service.Annotations[simClass] == "elsewhere" {
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
	if seen.balancer == nil && s.hasty {
		return nil
	}
	if seen.balancer != nil {
		if err := s.cloud.deleteBalancer(ctx, seen.balancer.name); err != nil && !errors.Is(err, apierr.ErrNotFound) {
			return err
		}
		if s.patient {
			return api.NewRetryError("the load balancer is not gone yet", time.Second)
		}
	}
	rules := seen.rules
	if s.narrow {
		rules = slices.DeleteFunc(rules, func(r simRule) bool { return !hasNodePort(service, r.nodePort) })
	}
	if len(rules) > 0 {
		if err := s.cloud.changeRules(ctx, nil, rules); err != nil {
			return err
		}
	}
	s.cloud.mu.Lock()
	defer s.cloud.mu.Unlock()
	delete(s.cloud.notes, lbname.ByUID(service))

	return nil
}

// hasNodePort says that a node port is one of the Service's.
func hasNodePort(service *v1.Service, nodePort int32) bool {
	return slices.ContainsFunc(service.Spec.Ports, func(p v1.ServicePort) bool { return p.NodePort == nodePort })
}
