package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// attachmentAge is how long the instance of a network interface is cached.
	attachmentAge = 5 * time.Minute
	// maxInterfaces is the maximum number of values of the filters of a call.
	maxInterfaces = 200
)

// attachments finds the instances that network interfaces are attached to, for
// routes that EC2 returns without their instance. It is safe for concurrent use.
//
//	the network interface is                 looked up in
//	of an instance of the cluster's list     the inventory, without a call
//	another one                              EC2, all of them in one query
//
// Both results are cached, including that there is no instance, so that network
// interfaces of others do not cost a query each time routes are listed.
type attachments struct {
	api   client.Instances
	peers func(age time.Duration) []*inventory.Instance
	clock clock.PassiveClock

	mu     sync.Mutex
	known  map[string]attachment // by ID of the network interface
	denied time.Time             // until then EC2 is not queried
}

// attachment is the instance of a network interface, empty if it has none.
type attachment struct {
	instance string
	until    time.Time
}

func newAttachments(api client.Instances, peers func(time.Duration) []*inventory.Instance) *attachments {
	return &attachments{api: api, peers: peers, clock: clock.RealClock{}, known: map[string]attachment{}}
}

// instances returns the instances of network interfaces, without those that
// have none. Other entries of the cache are dropped. Without the permission to
// query EC2, only cached and listed instances are returned.
func (a *attachments) instances(ctx context.Context, interfaces []string) (map[string]string, error) {
	unknown := a.retain(interfaces)
	if len(unknown) > 0 {
		unknown = a.fromInventory(unknown)
	}
	if len(unknown) > 0 && a.allowed() {
		err := a.query(ctx, unknown)
		if err != nil && !errors.Is(err, apierr.ErrDenied) {
			return nil, err
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "Routes to some network interfaces are not listed", "for", deniedAge)
			a.deny()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	found := make(map[string]string, len(a.known))
	for id, known := range a.known {
		if known.instance != "" {
			found[id] = known.instance
		}
	}

	return found, nil
}

// retain drops entries that are too old or no longer needed, and returns the
// network interfaces that are not cached, sorted.
func (a *attachments) retain(interfaces []string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	wanted, now := sets.New(interfaces...), a.clock.Now()
	maps.DeleteFunc(a.known, func(id string, known attachment) bool { return !wanted.Has(id) || !now.Before(known.until) })

	return sets.List(wanted.Difference(sets.KeySet(a.known)))
}

// fromInventory copies the instances that are listed, and returns the network
// interfaces that remain.
func (a *attachments) fromInventory(unknown []string) []string {
	owners := map[string]string{}
	for _, i := range a.peers(peerAge) {
		for k := range i.Interfaces {
			owners[i.Interfaces[k].ID] = i.ID
		}
	}
	rest := slices.DeleteFunc(slices.Clone(unknown), func(id string) bool { return owners[id] != "" })
	maps.DeleteFunc(owners, func(id, _ string) bool {
		_, wanted := slices.BinarySearch(unknown, id)

		return !wanted
	})
	a.keep(owners)

	return rest
}

// query queries EC2 for network interfaces. As a filter value, the ID of one
// that does not exist is no error.
func (a *attachments) query(ctx context.Context, unknown []string) error {
	for chunk := range slices.Chunk(unknown, maxInterfaces) {
		owners := make(map[string]string, len(chunk))
		for _, id := range chunk {
			owners[id] = ""
		}
		filter := types.Filter{Name: aws.String("network-interface-id"), Values: chunk}
		input := &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{filter}}
		for pages := ec2.NewDescribeNetworkInterfacesPaginator(a.api, input); pages.HasMorePages(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return fmt.Errorf("describe %d network interfaces of routes: %w", len(chunk), err)
			}
			if page.NetworkInterfaces == nil {
				return fmt.Errorf("describe %d network interfaces of routes: %w", len(chunk), inventory.ErrNoList)
			}
			for k := range page.NetworkInterfaces {
				if to := page.NetworkInterfaces[k].Attachment; to != nil {
					owners[aws.ToString(page.NetworkInterfaces[k].NetworkInterfaceId)] = aws.ToString(to.InstanceId)
				}
			}
		}
		a.keep(owners)
	}

	return nil
}

func (a *attachments) keep(owners map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	until := a.clock.Now().Add(attachmentAge)
	for id, instance := range owners {
		a.known[id] = attachment{instance, until}
	}
}

// allowed reports whether a query to EC2 may be permitted.
func (a *attachments) allowed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()

	return !a.clock.Now().Before(a.denied)
}

func (a *attachments) deny() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.denied = a.clock.Now().Add(deniedAge)
}

// leadsToGateway reports whether the target of a route is not an instance: a
// NAT gateway, a transit gateway and so on. Their network interfaces, if they
// are returned as well, do not count.
func leadsToGateway(route *types.Route) bool {
	return slices.ContainsFunc([]*string{
		route.GatewayId, route.NatGatewayId, route.TransitGatewayId, route.EgressOnlyInternetGatewayId,
		route.VpcPeeringConnectionId, route.LocalGatewayId, route.CarrierGatewayId, route.CoreNetworkArn, route.OdbNetworkArn,
	}, func(id *string) bool { return aws.ToString(id) != "" })
}

// instanceIDs returns the target instances of the routes of a table, in the
// order of the routes, empty for other targets.
func (r *routes) instanceIDs(ctx context.Context, table *types.RouteTable) ([]string, error) {
	ids := make([]string, len(table.Routes))
	var interfaces []string
	for i := range table.Routes {
		entry := &table.Routes[i]
		if _, ok := destination(entry); !ok || leadsToGateway(entry) {
			continue
		}
		ids[i] = aws.ToString(entry.InstanceId)
		if eni := aws.ToString(entry.NetworkInterfaceId); ids[i] == "" && eni != "" {
			interfaces = append(interfaces, eni)
		}
	}
	if len(interfaces) == 0 {
		return ids, nil
	}
	found, err := r.attachments.instances(ctx, interfaces)
	if err != nil {
		return nil, err
	}
	for i := range table.Routes {
		if entry := &table.Routes[i]; ids[i] == "" && !leadsToGateway(entry) {
			ids[i] = found[aws.ToString(entry.NetworkInterfaceId)]
		}
	}

	return ids, nil
}
