package aws

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

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
)

const (
	// labelLayer begins the labels for the network nodes above an instance,
	// outermost first. Its number follows.
	labelLayer = "topology.k8s.aws/network-node-layer-"

	// maxTopologies is how many instances one call can name.
	maxTopologies = 100
	// topologyTimeout leaves time to go on without an answer.
	topologyTimeout = 10 * time.Second
	// unsupportedAge is how long it counts that a region, a type or an instance
	// has no topology; deniedAge is how long a missing permission does, which an
	// administrator may add at any time; placeAge is how long a place in the
	// topology does, and failedAge a failure: less than the time between two
	// attempts for a waiting Node.
	unsupportedAge = 24 * time.Hour
	deniedAge      = 5 * time.Minute
	placeAge       = 10 * time.Minute
	failedAge      = 2 * time.Second
	// placeMemory and typeMemory bound what is remembered.
	placeMemory = 1 << 14
	typeMemory  = 1 << 10
	// peerAge is how old the list may be that neighbors are taken from.
	peerAge = time.Minute
	// maxDead is how many times a call is made again because instances in it
	// are gone.
	maxDead = 3
)

// placed is an instance with its type.
type placed struct{ id, kind string }

// topology tells where in the network instances are. What it knows of the next
// nodes it asks for along with the first, so that many cost few calls.
type topology struct {
	api   client.Instances
	must  *regexp.Regexp
	peers func(age time.Duration) []*inventory.Instance
	batch *batch.Batcher[placed, []string]
	turn  chan struct{}

	// places has the network nodes by instance ID, types the instance types
	// without any, and region whether there is an answer at all.
	places, types, region *expiring.LRUExpireCache
}

func newTopology(api client.Instances, must *regexp.Regexp, instances *inventory.Inventory, t tuning) *topology {
	o := &topology{
		api:    api,
		must:   must,
		peers:  instances.Peek,
		turn:   make(chan struct{}, 1),
		places: expiring.NewLRUExpireCache(placeMemory),
		types:  expiring.NewLRUExpireCache(typeMemory),
		region: expiring.NewLRUExpireCache(1),
	}
	o.batch = batch.New(o.ask, batch.Options{Window: t.Window, MaxSize: maxTopologies, Timeout: min(topologyTimeout, t.Timeout)})
	return o
}

// labels are the labels about an instance's place, unless the Node has them. A
// failure counts only for types that must have a place.
func (o *topology) labels(ctx context.Context, node *v1.Node, f facts) (map[string]string, error) {
	if _, labeled := node.Labels[labelLayer+"1"]; labeled || f.kind == "" {
		return nil, nil
	}
	nodes, err := o.find(ctx, placed{f.id, f.kind})
	if err != nil && o.required(f.kind) {
		return nil, fmt.Errorf("find the place of instance %s in the network: %w", f.id, err)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Node gets no labels for its place in the network", "node", klog.KObj(node), "instance", f.id, "type", f.kind)
	}
	labels := make(map[string]string, len(nodes))
	for i, name := range nodes {
		labels[labelLayer+strconv.Itoa(i+1)] = name
	}
	return labels, nil
}

// required reports whether instances of a type must have a place.
func (o *topology) required(kind string) bool { return o.must != nil && o.must.MatchString(kind) }

// find returns the network nodes above an instance, none if it has none.
func (o *topology) find(ctx context.Context, p placed) ([]string, error) {
	if nodes, known, err := o.recall(p); known {
		return nodes, err
	}
	return o.batch.Get(ctx, p)
}

// recall returns what is known of an instance.
func (o *topology) recall(p placed) (nodes []string, known bool, err error) {
	if kept, ok := o.region.Get(""); ok {
		err, _ = kept.(error)
		return nil, true, err
	}
	if kept, ok := o.places.Get(p.id); ok {
		return kept.([]string), true, nil
	}
	_, without := o.types.Get(p.kind)
	return nil, without && !o.required(p.kind), nil
}

// ask answers the questions that came at about the same time. One call at a time
// is made, as its answer often has what others are waiting to ask for.
func (o *topology) ask(ctx context.Context, asked []placed) (map[placed]batch.Result[[]string], error) {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	answers := make(map[placed]batch.Result[[]string], len(asked))
	var unknown []placed
	for _, p := range asked {
		if nodes, known, err := o.recall(p); known {
			answers[p] = batch.Result[[]string]{Value: nodes, Err: err}
		} else {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) == 0 {
		return answers, nil
	}
	found, dead, err := o.describe(ctx, o.withPeers(unknown))
	if err != nil {
		return nil, err
	}
	for _, p := range unknown {
		answers[p] = batch.Result[[]string]{Value: found[p.id]}
		if dead.Has(p.id) {
			answers[p] = batch.Result[[]string]{Err: fmt.Errorf("EC2 does not know the instance: %w", apierr.ErrUnavailable)}
		}
	}
	return answers, nil
}

// withPeers adds to a question the instances whose Nodes are likely to be next.
func (o *topology) withPeers(asked []placed) []placed {
	all := slices.Clone(asked)
	for _, i := range o.peers(peerAge) {
		if len(all) >= maxTopologies {
			break
		}
		p := placed{i.ID, i.Type}
		if i.State != types.InstanceStateNameRunning || i.Type == "" || slices.Contains(asked, p) {
			continue
		}
		if _, known, _ := o.recall(p); !known {
			all = append(all, p)
		}
	}
	return all
}

// describe asks EC2, and remembers what it says. Instances that EC2 does not know
// are left out of the question and given back.
func (o *topology) describe(ctx context.Context, all []placed) (found map[string][]string, dead sets.Set[string], err error) {
	dead = sets.New[string]()
	for range maxDead {
		found, err = o.call(ctx, all)
		gone := notFound(err)
		before := len(all)
		all = slices.DeleteFunc(all, func(p placed) bool { return gone.Has(p.id) })
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
	o.remember(all, found)
	return found, dead, nil
}

// call makes one call, with all pages of its answer.
func (o *topology) call(ctx context.Context, all []placed) (map[string][]string, error) {
	ids := make([]string, len(all))
	for i, p := range all {
		ids[i] = p.id
	}
	found := make(map[string][]string, len(ids))
	for pages := ec2.NewDescribeInstanceTopologyPaginator(o.api, &ec2.DescribeInstanceTopologyInput{InstanceIds: ids}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe topology of %d instances: %w", len(ids), err)
		}
		for _, i := range page.Instances {
			found[aws.ToString(i.InstanceId)] = i.NetworkNodes
		}
	}
	return found, nil
}

// remember keeps an answer:
//
//	an instance has a place                            its place
//	it has none, its type must have one                none, for the instance
//	it has none, but another one of its type           none, for the instance
//	it has none, nor has any other of its type         none, for the type
func (o *topology) remember(all []placed, found map[string][]string) {
	supported := sets.New[string]()
	for _, p := range all {
		if len(found[p.id]) > 0 {
			supported.Insert(p.kind)
		}
	}
	for _, p := range all {
		switch {
		case len(found[p.id]) > 0:
			o.places.Add(p.id, found[p.id], placeAge)
		case o.required(p.kind) || supported.Has(p.kind):
			o.places.Add(p.id, []string(nil), unsupportedAge)
		default:
			o.types.Add(p.kind, struct{}{}, unsupportedAge)
		}
	}
}

// withoutTopology returns for how long Nodes are initialized without labels after
// an error, or 0 for an error that is none of these:
//
//	EC2 has no topology in this region   unsupportedAge
//	the permission is missing            deniedAge
func withoutTopology(err error) time.Duration {
	switch client.Code(err) {
	case "UnsupportedOperation":
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
