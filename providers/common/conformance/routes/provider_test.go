package routes

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
)

// provider implements Routes over the in-memory cloud.
type provider struct {
	cloud   *cloud
	timeout time.Duration
	// What can be wrong with it.
	endless     bool // ignores cancellation and has no deadline
	strict      bool // fails for a route that exists already, or not
	narrow      bool // lists routes to Nodes only
	strictList  bool // fails to list if a route is to no Node
	blind       bool // deletes the route whatever its target is
	guesses     bool // uses any Node in place of an unknown one
	followsNode bool // lists routes to stopped machines as black holes
	trusting    bool // accepts any destination
	stays       bool // leaves a route where it is
	everyCall   bool // lists before each change
}

var _ cloudprovider.Routes = (*provider)(nil)

// begin returns the context of a call.
func (s *provider) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.endless {
		return context.WithoutCancel(ctx), func() {}
	}

	return context.WithTimeout(ctx, s.timeout)
}

// nodes are the Nodes as an informer has them.
func (s *provider) nodes() []*v1.Node {
	s.cloud.Lock()
	defer s.cloud.Unlock()

	return slices.Clone(s.cloud.nodes)
}

func (s *provider) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	ctx, cancel := s.begin(ctx)
	defer cancel()
	seen, err := s.cloud.list(ctx)
	if err != nil {
		return nil, err
	}
	nodes := s.nodes()
	var routes []*cloudprovider.Route
	for _, r := range seen {
		if r.target == "gateway" {
			continue
		}
		route := &cloudprovider.Route{
			Name: cluster + "-" + r.cidr, DestinationCIDR: r.cidr, Blackhole: r.blackhole, TargetNode: types.NodeName(r.target),
		}
		known := false
		for _, node := range nodes {
			if node.Spec.ProviderID == r.target {
				route.TargetNode, known = types.NodeName(node.Name), true
			}
		}
		if !known && s.strictList {
			return nil, fmt.Errorf("the route to %s is to no node", r.cidr)
		}
		if s.followsNode && s.stopped(r.target) {
			route.Blackhole = true
		}
		if known || !s.narrow {
			routes = append(routes, route)
		}
	}

	return routes, nil
}

// stopped reports whether a machine exists and is off.
func (s *provider) stopped(id string) bool {
	s.cloud.Lock()
	defer s.cloud.Unlock()
	m := s.cloud.Machine(id)

	return m != nil && m.Power != conformance.On
}

// target returns the machine of a Node.
func (s *provider) target(name types.NodeName) (string, error) {
	for _, node := range s.nodes() {
		if node.Name == string(name) || s.guesses {
			return node.Spec.ProviderID, nil
		}
	}

	return "", fmt.Errorf("the node %q is not known", name)
}

func (s *provider) CreateRoute(ctx context.Context, _, _ string, route *cloudprovider.Route) error {
	ctx, cancel := s.begin(ctx)
	defer cancel()
	if _, err := netip.ParsePrefix(route.DestinationCIDR); err != nil && !s.trusting {
		return fmt.Errorf("create route: %w", err)
	}
	target, err := s.target(route.TargetNode)
	if err != nil {
		return fmt.Errorf("create route: %w", err)
	}
	if s.everyCall {
		if _, err := s.cloud.list(ctx); err != nil {
			return err
		}
	}
	wanted := entry{route.DestinationCIDR, target}
	err = s.cloud.change(ctx, wanted, "create")
	if !errors.Is(err, apierr.ErrConflict) || s.strict {
		return err
	}
	if s.stays {
		return nil
	}

	return s.cloud.change(ctx, wanted, "replace")
}

func (s *provider) DeleteRoute(ctx context.Context, _ string, route *cloudprovider.Route) error {
	ctx, cancel := s.begin(ctx)
	defer cancel()
	target, err := s.target(route.TargetNode)
	if err != nil {
		target = string(route.TargetNode) // a machine without Node
		for _, m := range s.machinesNamed(target) {
			target = m
		}
	}
	if s.blind {
		target = ""
	}
	err = s.cloud.change(ctx, entry{route.DestinationCIDR, target}, "delete")
	if errors.Is(err, apierr.ErrNotFound) && !s.strict {
		return nil
	}

	return err
}

// machinesNamed are the IDs of the machines with a name.
func (s *provider) machinesNamed(name string) []string {
	s.cloud.Lock()
	defer s.cloud.Unlock()
	var ids []string
	for _, m := range s.cloud.Machines {
		if m.Ref.NodeName == name {
			ids = append(ids, m.Ref.ProviderID)
		}
	}

	return ids
}
