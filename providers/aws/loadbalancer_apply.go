package aws

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// retryLater is when the service controller comes back for what is in use now.
const retryLater = 30 * time.Second

// order is a call of the service controller.
type order struct {
	cluster string
	service *v1.Service
	nodes   []*v1.Node
	// create says that a load balancer that is not there is made.
	create bool
}

// task is what a Service asks for, with the settings that count for it.
type task struct {
	config  request.Config
	service *v1.Service
	request *request.Request
}

// query is what to look for among network load balancers.
func (t task) query(brief bool) network.Query {
	return network.Query{
		Name: t.request.Name, Service: t.request.Service, Cluster: t.config.Cluster, VPC: t.config.VPC,
		Attributes: attributesMatter(t.request, t.config), Brief: brief,
	}
}

// step is one round of observing, planning and applying.
type step struct {
	task
	seen  observed
	facts request.Facts
	env   *change.Env
	// calm says that the plan was empty.
	calm     bool
	warnings []service.Warning
}

// wantedGroups are the IDs of the security groups that the load balancer has from
// now on.
func (s *step) wantedGroups() ([]string, error) {
	choice := chooseGroups(s.request, s.config, s.seen)
	if s.request.Kind == request.Network && choice.Groups == nil {
		return s.seen.networkGroups(), nil
	}
	ids := make([]string, 0, len(choice.Groups))
	for _, ref := range choice.Groups {
		id, err := s.env.IDs.Resolve(ref)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// detached are the IDs of the groups that a classic load balancer has or had, and
// is not to have.
func (s *step) detached() []string {
	return change.Detached(s.seen.classicGroups(), chooseGroups(s.request, s.config, s.seen).Groups)
}

// hostname is that of the load balancer, which may be new.
func (s *step) hostname() string {
	if s.seen.has(s.request.Kind) {
		return s.seen.hostname(s.request.Kind)
	}
	key := classic.HostnameKey(s.request.Name)
	if s.request.Kind == request.Network {
		key = network.HostnameKey(s.request.Name)
	}
	hostname, _ := s.env.IDs.Get(key) // without it the next sync has it
	return hostname
}

// sync makes the load balancer of a Service what it is to be, and gives its
// hostname. What is wrong without being an error becomes an Event.
func (l *loadBalancer) sync(ctx context.Context, o order) (string, error) {
	unlock, err := l.services.Lock(ctx, klog.KObj(o.service).String())
	if err != nil {
		return "", err
	}
	defer unlock()
	t := task{config: l.Settings, service: o.service}
	t.config.ClusterName = o.cluster
	var warnings []service.Warning
	if t.request, warnings, err = request.New(o.service, o.nodes, t.config); err != nil {
		return "", err
	}
	s, err := l.round(ctx, t, o.create, false)
	if err == nil && len(lingering(t.request, t.config, s.seen)) > 0 {
		s, err = l.round(ctx, t, false, true)
	}
	if s == nil {
		return "", err
	}
	l.reporter.Report(o.service, append(warnings, s.warnings...))
	return s.hostname(), err
}

// round observes, plans and applies once. The answer is nil unless all warnings
// are known.
func (l *loadBalancer) round(ctx context.Context, t task, create, settled bool) (*step, error) {
	s := &step{task: t, env: l.env()}
	var err error
	if s.seen, err = l.observe(ctx, t); err != nil {
		return nil, err
	}
	s.seen.Settled = settled
	if err := s.seen.obstacle(t.request); err != nil {
		return nil, err
	}
	if !create && !s.seen.has(t.request.Kind) {
		return nil, apierr.Mark(apierr.ErrNotFound, fmt.Errorf("there is no %s load balancer %s to update", t.request.Kind, t.request.Name))
	}
	if s.facts, err = l.facts(ctx, t, s.seen); err != nil {
		return nil, err
	}
	steps, warnings, err := planLoadBalancer(t.request, s.facts, s.seen)
	if err != nil {
		return nil, err
	}
	s.calm, s.warnings = len(steps) == 0, warnings
	if err := l.apply(ctx, t, s.env, steps); err != nil {
		return nil, err
	}
	work, err := l.admit(ctx, s)
	if err != nil {
		return nil, err
	}
	s.warnings = append(s.warnings, work.warnings...)
	if err := l.clear(ctx, s, work.doomed); err != nil {
		return nil, err
	}
	return s, work.ambiguous
}

// clear deletes groups that the load balancer has lost. One that is in use for
// longer than a worker can wait is tried again soon.
func (l *loadBalancer) clear(ctx context.Context, s *step, doomed []*securitygroup.Group) error {
	if len(lingering(s.request, s.config, s.seen)) > 0 {
		return nil // the load balancer has not lost them yet
	}
	err := l.apply(ctx, s.task, s.env, securitygroup.Delete(doomed))
	if errors.Is(err, apierr.ErrConflict) {
		return api.NewRetryError(err.Error(), retryLater)
	}
	return err
}

// remove deletes all that was made for a Service: first the rules of the nodes,
// as long as the load balancer tells which they are, then the load balancer, last
// its security groups.
func (l *loadBalancer) remove(ctx context.Context, clusterName string, svc *v1.Service) error {
	t := l.outline(clusterName, svc)
	unlock, err := l.services.Lock(ctx, klog.KObj(svc).String())
	if err != nil {
		return err
	}
	defer unlock()
	defer l.leaving.add(t.request.Name)()
	o, err := l.observeAll(ctx, t)
	if err != nil {
		return err
	}
	env := l.env()
	doomed, err := l.expel(ctx, t, o, env)
	if err != nil {
		return err
	}
	if err := l.apply(ctx, t, env, append(removal(o), securitygroup.Delete(doomed)...)); err != nil {
		return err
	}
	l.reporter.Report(svc, nil)
	return nil
}

// removal plans the end of the load balancers. What belongs to another cluster is
// none of ours.
func removal(o observed) change.Plan {
	var steps change.Plan
	if o.hasClassic() {
		steps = classic.Diff(nil, o.Classic)
	}
	if o.Network == nil {
		return steps
	}
	ours := *o.Network
	if ours.Refusal() != nil {
		ours.LoadBalancer, ours.TargetGroups = nil, nil
		for _, group := range o.Network.TargetGroups {
			if !group.Attached {
				ours.TargetGroups = append(ours.TargetGroups, group)
			}
		}
	}
	return append(steps, network.Diff(nil, &ours)...)
}

// expel takes away the rules by which nodes let the load balancers of a Service
// in, and gives the security groups to be deleted after them.
func (l *loadBalancer) expel(ctx context.Context, t task, o observed, env *change.Env) ([]*securitygroup.Group, error) {
	unlock, err := l.vpcs.Lock(ctx, t.config.VPC)
	if err != nil {
		return nil, err
	}
	defer unlock()
	groups, err := l.groupsLeft(ctx, t, o)
	if err != nil {
		return nil, err
	}
	needs, doomed := t.parting(o, groups)
	if t.config.LeaveNodeSecurityGroups {
		return doomed, nil
	}
	referring, err := securitygroup.ObserveReferring(ctx, l.EC2, t.config.VPC, needs.Ending)
	if err != nil {
		return nil, err
	}
	diff := securitygroup.DiffNodes(needs, merge(groups, referring), t.config.Cluster)
	return doomed, l.applyNodes(ctx, t, env, diff)
}

func (l *loadBalancer) env() *change.Env {
	return &change.Env{EC2: l.EC2, ELB: l.ELB, ELBV2: l.ELBV2, Wait: l.Tuning.Wait}
}

// apply runs a plan.
func (l *loadBalancer) apply(ctx context.Context, t task, env *change.Env, steps change.Plan) error {
	logger := klog.FromContext(ctx).WithValues("service", klog.KObj(t.service), "loadBalancer", t.request.Name)
	if len(steps) == 0 {
		logger.V(4).Info("Nothing to change")
		return nil
	}
	logger.V(2).Info("Changing load balancer", "plan", steps.String())
	return steps.Apply(ctx, env, l.Step)
}
