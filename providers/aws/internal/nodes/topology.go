package nodes

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	expiring "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

const (
	// LabelLayer is the prefix of the labels for the network nodes above an
	// instance, outermost first. Its number follows.
	LabelLayer = "topology.k8s.aws/network-node-layer-"

	// maxTopologies is the maximum number of instances in one call.
	maxTopologies = 100
	// unsupportedAge is how long it is cached that a region, a type or an
	// instance has no topology. deniedAge is the same for a missing permission,
	// which an administrator may add at any time, topologyAge for a topology,
	// and failedAge for a failure: less than the time between two attempts for
	// a waiting Node.
	unsupportedAge = 24 * time.Hour
	deniedAge      = 5 * time.Minute
	topologyAge    = 10 * time.Minute
	failedAge      = 2 * time.Second
	// maxTopologyEntries and maxTypes bound the cache.
	maxTopologyEntries = 1 << 14
	maxTypes           = 1 << 10
	// peerAge is the maximum age of the list that other instances are taken
	// from.
	peerAge = time.Minute
	// maxDead is how many times a call is repeated because instances in it are
	// gone.
	maxDead = 3
)

// topologyKey is an instance with its type.
type topologyKey struct{ id, instanceType string }

// topology finds the network nodes above instances. The instances of the next
// Nodes are requested along with the first, which saves calls.
type topology struct {
	api     client.Instances
	must    *regexp.Regexp
	peers   func(age time.Duration) []*inventory.Instance
	batch   *batch.Batcher[topologyKey, []string]
	running chan struct{}

	// networkNodes has the network nodes by instance ID, types the instance
	// types without any, and region whether there is a topology at all.
	networkNodes, types, region *expiring.LRUExpireCache
}

func newTopology(api client.Instances, must *regexp.Regexp, instances *inventory.Inventory, t Tuning) *topology {
	by := t.TopologyClock
	if by == nil {
		by = clock.RealClock{}
	}
	o := &topology{
		api:          api,
		must:         must,
		peers:        instances.Peek,
		running:      make(chan struct{}, 1),
		networkNodes: expiring.NewLRUExpireCacheWithClock(maxTopologyEntries, by),
		types:        expiring.NewLRUExpireCacheWithClock(maxTypes, by),
		region:       expiring.NewLRUExpireCacheWithClock(1, by),
	}
	o.batch = batch.New(o.fetch, batch.Options{Window: t.Window, MaxSize: maxTopologies, Timeout: t.Timeout})

	return o
}

// labels returns the topology labels of an instance, unless the Node has them.
// A failure is an error only for types that require a topology.
func (o *topology) labels(ctx context.Context, node *v1.Node, f facts) (map[string]string, error) {
	if _, labeled := node.Labels[LabelLayer+"1"]; labeled || f.instanceType == "" {
		return nil, nil
	}
	nodes, err := o.find(ctx, topologyKey{f.id, f.instanceType})
	if err != nil && o.required(f.instanceType) {
		return nil, fmt.Errorf("find the place of instance %s in the network: %w", f.id, err)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Node gets no labels for its place in the network", "node", klog.KObj(node), "instance", f.id, "type", f.instanceType)
	}
	labels := make(map[string]string, len(nodes))
	for i, name := range nodes {
		labels[LabelLayer+strconv.Itoa(i+1)] = name
	}

	return labels, nil
}

// required reports whether instances of a type require a topology.
func (o *topology) required(instanceType string) bool {
	return o.must != nil && o.must.MatchString(instanceType)
}

// find returns the network nodes above an instance, none if it has none.
func (o *topology) find(ctx context.Context, p topologyKey) ([]string, error) {
	if nodes, known, err := o.lookup(p); known {
		return nodes, err
	}

	return o.batch.Get(ctx, p)
}

// lookup returns the cached network nodes of an instance.
func (o *topology) lookup(p topologyKey) (nodes []string, known bool, err error) {
	if kept, ok := o.region.Get(""); ok {
		err, _ = kept.(error)

		return nil, true, err
	}
	if kept, ok := o.networkNodes.Get(p.id); ok {
		return kept.([]string), true, nil
	}
	_, without := o.types.Get(p.instanceType)

	return nil, without && !o.required(p.instanceType), nil
}

// fetch handles concurrent requests. One call at a time is made, as its
// response often contains what other callers are about to request.
func (o *topology) fetch(ctx context.Context, requested []topologyKey) (map[topologyKey]batch.Result[[]string], error) {
	select {
	case o.running <- struct{}{}:
		defer func() { <-o.running }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	results := make(map[topologyKey]batch.Result[[]string], len(requested))
	var unknown []topologyKey
	for _, p := range requested {
		if nodes, known, err := o.lookup(p); known {
			results[p] = batch.Result[[]string]{Value: nodes, Err: err}
		} else {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return results, nil
	}
	found, dead, err := o.describe(ctx, o.withPeers(unknown))
	if err != nil {
		return nil, err
	}
	for _, p := range unknown {
		results[p] = batch.Result[[]string]{Value: found[p.id]}
		if dead.Has(p.id) {
			results[p] = batch.Result[[]string]{Err: fmt.Errorf("EC2 does not have the instance: %w", apierr.ErrUnavailable)}
		}
	}

	return results, nil
}

// withPeers adds the instances whose Nodes are likely to be next to a request.
func (o *topology) withPeers(requested []topologyKey) []topologyKey {
	all := slices.Clone(requested)
	for _, i := range o.peers(peerAge) {
		if len(all) >= maxTopologies {
			break
		}
		p := topologyKey{i.ID, i.Type}
		if i.State != types.InstanceStateNameRunning || i.Type == "" || slices.Contains(requested, p) {
			continue
		}
		if _, known, _ := o.lookup(p); !known {
			all = append(all, p)
		}
	}

	return all
}

// describe queries EC2 and stores the result. Instances that EC2 does not have
// are removed from the request and returned.
func (o *topology) describe(ctx context.Context, all []topologyKey) (found map[string][]string, dead sets.Set[string], err error) {
	dead = sets.New[string]()
	for range maxDead {
		found, err = o.call(ctx, all)
		gone := notFound(err)
		before := len(all)
		all = slices.DeleteFunc(all, func(p topologyKey) bool { return gone.Has(p.id) })
		dead = dead.Union(gone)
		if len(all) == before {
			break
		}
		if len(all) == 0 {
			return nil, dead, nil
		}
	}
	if age := withoutTopology(err); age > 0 {
		klog.FromContext(ctx).Info("Nodes get no labels for their place in the network", "reason", err.Error(), "for", age)
		o.region.Add("", nil, age)

		return nil, dead, nil
	}
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			o.region.Add("", err, failedAge)
		}

		return nil, nil, err
	}
	o.store(all, found)

	return found, dead, nil
}

// call makes one call, with all pages of its response.
func (o *topology) call(ctx context.Context, all []topologyKey) (map[string][]string, error) {
	ids := lists.Map(all, func(p topologyKey) string { return p.id })
	pages := ec2.NewDescribeInstanceTopologyPaginator(o.api, &ec2.DescribeInstanceTopologyInput{InstanceIds: ids})
	instances, err := client.All(ctx, pages, func(page *ec2.DescribeInstanceTopologyOutput) []types.InstanceTopology { return page.Instances })
	if err != nil {
		return nil, fmt.Errorf("describe topology of %d instances: %w", len(ids), err)
	}
	found := make(map[string][]string, len(ids))
	for _, i := range instances {
		found[aws.ToString(i.InstanceId)] = i.NetworkNodes
	}

	return found, nil
}

// store caches a result:
//
//	an instance has a topology                         its network nodes
//	it has none, its type requires one                 none, for the instance
//	it has none, but another one of its type           none, for the instance
//	it has none, nor has any other of its type         none, for the type
func (o *topology) store(all []topologyKey, found map[string][]string) {
	supported := sets.New[string]()
	for _, p := range all {
		if len(found[p.id]) > 0 {
			supported.Insert(p.instanceType)
		}
	}
	for _, p := range all {
		switch {
		case len(found[p.id]) > 0:
			o.networkNodes.Add(p.id, found[p.id], topologyAge)
		case o.required(p.instanceType) || supported.Has(p.instanceType):
			o.networkNodes.Add(p.id, []string(nil), unsupportedAge)
		default:
			o.types.Add(p.instanceType, struct{}{}, unsupportedAge)
		}
	}
}

// withoutTopology returns for how long Nodes are initialized without labels after
// an error, or 0 for an error that is none of these:
//
//	EC2 has no topology in this region   unsupportedAge, or does not know the action
//	the permission is missing            deniedAge
func withoutTopology(err error) time.Duration {
	switch client.Code(err) {
	case "UnsupportedOperation", "InvalidAction":
		return unsupportedAge
	case "UnauthorizedOperation":
		return deniedAge
	}

	return 0
}

// notFound returns the instances that EC2 did not find.
func notFound(err error) sets.Set[string] {
	if client.Code(err) != inventory.CodeNotFound {
		return nil
	}

	return inventory.Named(err)
}
