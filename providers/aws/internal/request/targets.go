package request

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// Untagged is the reason of the warning about Nodes whose instances lack the tag of
// the cluster.
const Untagged service.Reason = "InstanceUntagged"

// targets returns the Nodes that have all of the labels and are EC2 instances of
// the region, sorted by instance ID:
//
//	providerID                 target   warning
//	of an EC2 instance         yes
//	none yet                   -        -, the Node comes again once it has one
//	of another cloud           -        -, that cloud has its load balancers
//	of a Fargate node          -        -, no load balancer can reach it
//	in another region          -        -, no load balancer can reach it
//	anything else              -        yes, a user must fix it
func targets(nodes []*v1.Node, labels map[string]string, region string) ([]Target, []service.Warning) {
	var found []Target
	var unreadable []string
	for _, node := range service.SelectNodes(nodes, labels) {
		kind := providerid.Classify(inventory.Scheme, node.Spec.ProviderID)
		if kind == providerid.Empty || kind == providerid.Foreign {
			continue
		}
		id, err := inventory.ParseProviderID(node.Spec.ProviderID)
		switch {
		case err != nil:
			unreadable = append(unreadable, node.Name)
		case !inventory.IsFargate(id) && !elsewhere(node, region):
			found = append(found, Target{NodeName: node.Name, InstanceID: id})
		}
	}
	slices.SortFunc(found, func(a, b Target) int {
		return cmp.Or(cmp.Compare(a.InstanceID, b.InstanceID), cmp.Compare(a.NodeName, b.NodeName))
	})
	sameInstance := func(a, b Target) bool { return a.InstanceID == b.InstanceID }

	return slices.CompactFunc(found, sameInstance), service.SkippedNodes(unreadable, "their providerID names no EC2 instance")
}

// elsewhere reports whether the provider ID of a Node names a zone of another region.
func elsewhere(node *v1.Node, region string) bool {
	of := inventory.RegionOf(node.Spec.ProviderID)

	return of != "" && region != "" && of != region
}

// Instances are the instances behind a load balancer, by sorted ID.
type Instances struct {
	// Registered are the instances to be registered. Kept are instances that
	// AWS would not accept now, or that EC2 does not return, but that stay if
	// they are registered: there is no event when a stopped one runs again, and
	// an instance that is missing in a single response serves.
	Registered, Kept []string
}

// Equal reports whether two lists of instances are the same.
func (i Instances) Equal(other Instances) bool {
	return slices.Equal(i.Registered, other.Registered) && slices.Equal(i.Kept, other.Kept)
}

// Keep returns the instances, some of which must not be registered, but stay if
// they are.
func (i Instances) Keep(ids []string) Instances {
	kept, registered := lists.Split(i.Registered, sets.New(ids...).Has)

	return Instances{Registered: registered, Kept: plan.Sorted(slices.Concat(i.Kept, kept))}
}

// Instances returns the instances behind the load balancer: those that EC2
// returns. That a Node of this cluster has the ID of an instance is proof enough
// that it belongs to the cluster, unless it has the tag of another one: then it only
// stays where it is registered. AWS rejects a whole list because of
// one that is not running. Nodes whose instances are not registered cause
// warnings.
func (r *Request) Instances(facts Facts) (Instances, []service.Warning) {
	var list Instances
	var running []Target
	var unknown, unfit, untagged, foreign []string
	for _, target := range r.Targets {
		instance := facts.Targets[target.InstanceID]
		if _, missing := slices.BinarySearch(facts.Unknown, target.InstanceID); missing {
			list.Kept = append(list.Kept, target.InstanceID)
		}
		switch {
		case instance == nil:
			unknown = append(unknown, target.NodeName)

			continue
		case instance.State == types.InstanceStateNameShuttingDown, instance.State == types.InstanceStateNameTerminated:
			unfit = append(unfit, target.NodeName)

			continue
		case facts.Foreign(instance):
			list.Kept = append(list.Kept, target.InstanceID)
			foreign = append(foreign, target.NodeName)

			continue
		case !facts.Config.Cluster.Member(instance.Tags):
			untagged = append(untagged, target.NodeName)
		}
		if instance.State == types.InstanceStateNameRunning {
			running = append(running, target)
		} else {
			list.Kept = append(list.Kept, target.InstanceID)
			unfit = append(unfit, target.NodeName)
		}
	}
	if facts.Choose != nil {
		running = facts.Choose(running)
	}
	list.Registered = lists.Map(running, func(t Target) string { return t.InstanceID })
	list.Registered, list.Kept = plan.Sorted(list.Registered), plan.Sorted(list.Kept)
	warnings := slices.Concat(
		service.SkippedNodes(unknown, "EC2 has no instance in the VPC for them"),
		service.SkippedNodes(unfit, "the state of their instances does not allow it"),
		service.SkippedNodes(foreign, "their instances have the tag of another cluster"),
	)
	if len(untagged) > 0 {
		warnings = append(warnings, service.Warn(Untagged, "Instances of Nodes lack the tag %s, and are targets nevertheless; tag them: %s",
			facts.Config.Cluster.Tag(), plan.FewCommas(plan.Sorted(untagged))))
	}

	return list, warnings
}
