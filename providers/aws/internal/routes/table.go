package routes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// tableAge is how long writes use a cached route table. Lists read it again.
const tableAge = time.Minute

// routeTarget is the target of a route: the primary network interface of an
// instance, or the instance if that interface is unknown.
type routeTarget struct {
	instance, eni string
	forwards      bool
}

// targetOf returns the target for an instance. EC2 accepts the ID of the
// instance only if it has one network interface.
func targetOf(i *inventory.Instance) routeTarget {
	if primary, ok := i.Primary(); ok {
		return routeTarget{instance: i.ID, eni: primary.ID, forwards: !primary.SourceDestCheck}
	}

	return routeTarget{instance: i.ID}
}

// is reports whether a route has this target.
func (h routeTarget) is(route *types.Route) bool {
	if h.eni != "" {
		return aws.ToString(route.NetworkInterfaceId) == h.eni
	}

	return aws.ToString(route.InstanceId) == h.instance
}

// target returns the parameters of a write, of which one is set.
func (h routeTarget) target() (instance, eni *string) {
	if h.eni != "" {
		return nil, aws.String(h.eni)
	}

	return aws.String(h.instance), nil
}

// destinations returns the parameters of a write, of which one is set.
func destinations(cidr netip.Prefix) (ipv4, ipv6 *string) {
	if cidr.Addr().Is4() {
		return aws.String(cidr.String()), nil
	}

	return nil, aws.String(cidr.String())
}

// destination returns the address range of a route, or false if its destination
// is something else.
func destination(route *types.Route) (netip.Prefix, bool) {
	cidr, err := netip.ParsePrefix(cmp.Or(aws.ToString(route.DestinationCidrBlock), aws.ToString(route.DestinationIpv6CidrBlock)))

	return cidr.Masked(), err == nil
}

// readTable reads the one table that routes are in.
func (r *Routes) readTable(ctx context.Context) (*types.RouteTable, error) {
	input, what := r.query()
	pages := ec2.NewDescribeRouteTablesPaginator(r.api, input)
	all, err := client.All(ctx, pages, func(page *ec2.DescribeRouteTablesOutput) []types.RouteTable { return page.RouteTables })
	if err != nil {
		return nil, fmt.Errorf("describe route tables %s: %w", what, err)
	}
	found := lists.Filter(all, func(table types.RouteTable) bool {
		return r.config.TableID != "" || r.config.Cluster.Member(awstype.FromEC2Tags(table.Tags))
	})
	if len(found) != 1 {
		ids := lists.Map(found, func(table types.RouteTable) string { return aws.ToString(table.RouteTableId) })
		slices.Sort(ids)

		return nil, fmt.Errorf("there are %d route tables %s, one is needed: [%s]", len(found), what, strings.Join(ids, ", "))
	}

	return &found[0], nil
}

// query returns the query for the route table, and its description.
func (r *Routes) query() (*ec2.DescribeRouteTablesInput, string) {
	if r.config.TableID != "" {
		return &ec2.DescribeRouteTablesInput{RouteTableIds: []string{r.config.TableID}}, "with the ID " + r.config.TableID
	}
	input, what := &ec2.DescribeRouteTablesInput{}, "of the cluster"
	if tag := r.config.Cluster.Tag(); tag != "" {
		input.Filters = append(input.Filters, awstype.Filter("tag-key", tag, cluster.LegacyTag))
		what = "with the tag " + tag
	}
	if r.config.VPC != "" {
		input.Filters = append(input.Filters, awstype.Filter("vpc-id", r.config.VPC))
		what += " in " + r.config.VPC
	}

	return input, what
}

// forward enables an instance to forward packets that are not for itself. If
// writing network interfaces is not permitted, it tries to write the instance,
// which works if it has only one of them.
func (r *Routes) forward(ctx context.Context, to routeTarget) error {
	r.mu.Lock()
	done := to.forwards || r.forwarding.Has(to.instance)
	r.mu.Unlock()
	if done {
		return nil
	}
	off := &types.AttributeBooleanValue{Value: aws.Bool(false)}
	err := apierr.ErrDenied
	if to.eni != "" {
		_, err = r.api.ModifyNetworkInterfaceAttribute(ctx, &ec2.ModifyNetworkInterfaceAttributeInput{NetworkInterfaceId: aws.String(to.eni), SourceDestCheck: off})
	}
	if errors.Is(err, apierr.ErrDenied) {
		_, err = r.api.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{InstanceId: aws.String(to.instance), SourceDestCheck: off})
	}
	if err != nil {
		return fmt.Errorf("enable instance %s to forward packets: %w", to.instance, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forwarding.Insert(to.instance)

	return nil
}

// upsert creates a route, or changes the target of the existing one.
func (r *Routes) upsert(ctx context.Context, cidr netip.Prefix, to routeTarget) error {
	table, err := r.table.Get(ctx)
	if err != nil {
		return err
	}
	id := aws.ToString(table.RouteTableId)
	err = r.createRoute(ctx, id, cidr, to)
	if client.Code(err) != "RouteAlreadyExists" {
		return err
	}
	existing := routeTo(table, cidr)
	if existing == nil {
		if table, err = r.table.GetWithin(ctx, 0); err != nil {
			return err
		}
		existing = routeTo(table, cidr)
	}
	switch {
	case existing == nil:
		return r.createRoute(ctx, id, cidr, to)
	case to.is(existing):
		return nil
	case !movable(existing):
		return fmt.Errorf("table %s has a route there that leads to no instance: %w", id, apierr.ErrConflict)
	}

	return r.replaceRoute(ctx, id, cidr, to)
}

// routeTo returns the route with exactly that destination, or nil.
func routeTo(table *types.RouteTable, cidr netip.Prefix) *types.Route {
	for i := range table.Routes {
		if d, ok := destination(&table.Routes[i]); ok && d == cidr.Masked() {
			return &table.Routes[i]
		}
	}

	return nil
}

// movable reports whether a route is one of ours or a black hole. A gateway for
// the pods of a Node belongs to others, even if it is gone.
func movable(route *types.Route) bool {
	return !leadsToGateway(route) && (route.State == types.RouteStateBlackhole || route.InstanceId != nil || route.NetworkInterfaceId != nil)
}

func (r *Routes) createRoute(ctx context.Context, table string, cidr netip.Prefix, to routeTarget) error {
	input := &ec2.CreateRouteInput{RouteTableId: aws.String(table)}
	input.DestinationCidrBlock, input.DestinationIpv6CidrBlock = destinations(cidr)
	input.InstanceId, input.NetworkInterfaceId = to.target()
	if _, err := r.api.CreateRoute(ctx, input); err != nil {
		return fmt.Errorf("create route to instance %s: %w", to.instance, err)
	}
	klog.FromContext(ctx).V(2).Info("Created route", "table", table, "destination", cidr, "instance", to.instance)

	return nil
}

// replaceRoute changes the target of a route. If replacing is not permitted,
// the route is deleted and created.
func (r *Routes) replaceRoute(ctx context.Context, table string, cidr netip.Prefix, to routeTarget) error {
	input := &ec2.ReplaceRouteInput{RouteTableId: aws.String(table)}
	input.DestinationCidrBlock, input.DestinationIpv6CidrBlock = destinations(cidr)
	input.InstanceId, input.NetworkInterfaceId = to.target()
	_, err := r.api.ReplaceRoute(ctx, input)
	switch {
	case errors.Is(err, apierr.ErrDenied):
		if err := r.deleteRoute(ctx, table, cidr); err != nil {
			return err
		}

		return r.createRoute(ctx, table, cidr, to)
	case isNoRoute(err) || client.Code(err) == "InvalidParameterValue": // that is the code of EC2 here
		return r.createRoute(ctx, table, cidr, to)
	case err != nil:
		return fmt.Errorf("replace route with one to instance %s: %w", to.instance, err)
	}
	klog.FromContext(ctx).V(2).Info("Replaced route", "table", table, "destination", cidr, "instance", to.instance)

	return nil
}

// deleteRoute deletes a route. A route that does not exist counts as deleted.
func (r *Routes) deleteRoute(ctx context.Context, table string, cidr netip.Prefix) error {
	input := &ec2.DeleteRouteInput{RouteTableId: aws.String(table)}
	input.DestinationCidrBlock, input.DestinationIpv6CidrBlock = destinations(cidr)
	_, err := r.api.DeleteRoute(ctx, input)
	if err != nil && !isNoRoute(err) {
		return fmt.Errorf("delete route: %w", err)
	}
	klog.FromContext(ctx).V(2).Info("Deleted route", "table", table, "destination", cidr)

	return nil
}

// isNoRoute reports whether the route does not exist. A missing table is
// another error.
func isNoRoute(err error) bool { return client.Code(err) == "InvalidRoute.NotFound" }
