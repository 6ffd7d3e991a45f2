package nodes

import (
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
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// maxPods is the maximum number of Fargate nodes in one call: the filters of a
// call can have 200 values in total.
const maxPods = 150

var (
	// errNoInterface means that EC2 has responded, and the Fargate node does
	// not exist.
	errNoInterface = apierr.Mark(apierr.ErrNotFound, errors.New("no network interface in use has the node's address"))
	// errPodGone means that no interface is about to be attached either: the
	// Node is gone permanently.
	errPodGone = apierr.Mark(apierr.ErrNotFound, errors.New("no network interface has the node's address"))
)

// pod is a Fargate node, of which only the network interface is visible. It is
// shared and not changed once returned.
type pod struct {
	attached   bool
	zone       string
	ipv4, ipv6 netip.Addr
	dnsName    string
}

// fargate finds Fargate nodes by the address in their provider ID.
type fargate struct {
	api   client.Instances
	vpc   string
	pods  *cache.Cache[netip.Addr, *pod]
	batch *batch.Batcher[netip.Addr, *pod]
}

func newFargate(api client.Instances, vpc string, t Tuning) *fargate {
	f := &fargate{api: api, vpc: vpc}
	f.batch = batch.New(f.describe, batch.Options{Window: t.Window, MaxSize: maxPods, Timeout: t.Timeout})
	f.pods = cache.New(f.batch.Get, cache.Options{
		TTL:     t.MaxAge,
		Timeout: t.Window + t.Timeout,
		Clock:   t.Clock,
		KeepError: func(err error) time.Duration {
			if errors.Is(err, errNoInterface) {
				return t.MissingAge
			}

			return 0
		},
	})

	return f
}

// find returns a Fargate node from the cache or EC2, or errNoInterface.
func (f *fargate) find(ctx context.Context, name string) (*pod, error) {
	addr, err := fargateAddress(name)
	if err != nil {
		return nil, err
	}
	found, err := f.pods.Get(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("find network interface of %s: %w", name, err)
	}

	return found, nil
}

// confirm queries EC2 for one Fargate node, without the cache. It searches
// interfaces in any state, so that errPodGone is certain.
func (f *fargate) confirm(ctx context.Context, name string) (*pod, error) {
	addr, err := fargateAddress(name)
	if err != nil {
		return nil, err
	}
	found, err := f.list(ctx, f.filters(addr))
	if err != nil {
		return nil, fmt.Errorf("confirm network interface of %s: %w", name, err)
	}
	if len(found[addr]) == 0 {
		return nil, fmt.Errorf("confirm network interface of %s: %w", name, f.goneAnywhere(ctx, addr))
	}
	only := onlyPod(addr, slices.DeleteFunc(found[addr], func(p *pod) bool { return !p.attached }))
	if only.Err != nil {
		return nil, fmt.Errorf("confirm network interface of %s: %w", name, only.Err)
	}
	f.pods.Forget(addr) // it may be kept as missing

	return only.Value, nil
}

// goneAnywhere returns errPodGone if no interface in any VPC of the region has
// an address: the VPC of the cloud-config may differ from that of the Node.
func (f *fargate) goneAnywhere(ctx context.Context, addr netip.Addr) error {
	if f.vpc == "" {
		return errPodGone
	}
	found, err := f.list(ctx, []types.Filter{awstype.Filter("private-ip-address", addr.String())})
	switch {
	case err != nil:
		return err
	case len(found[addr]) > 0:
		return errNoInterface
	default:
		return errPodGone
	}
}

// fargateAddress parses the address in the name of a Fargate node:
//
//	fargate-10.0.1.2
//	fargate-ip-10-0-1-2.ec2.internal
func fargateAddress(name string) (netip.Addr, error) {
	text := strings.TrimPrefix(name, "fargate-")
	if host, ok := strings.CutPrefix(text, "ip-"); ok {
		host, _, _ = strings.Cut(host, ".")
		text = strings.ReplaceAll(host, "-", ".")
	}
	addr, err := address.Parse(text)
	if err != nil || !addr.Is4() {
		return netip.Addr{}, fmt.Errorf("%q does not name a Fargate node: no IPv4 address in it", name)
	}

	return addr, nil
}

// describe queries EC2 for attached network interfaces by their private
// address.
func (f *fargate) describe(ctx context.Context, addrs []netip.Addr) (map[netip.Addr]batch.Result[*pod], error) {
	attached := types.Filter{Name: aws.String("attachment.status"), Values: []string{string(types.AttachmentStatusAttached)}}
	found, err := f.list(ctx, append([]types.Filter{attached}, f.filters(addrs...)...))
	if err != nil {
		return nil, err
	}
	results := make(map[netip.Addr]batch.Result[*pod], len(addrs))
	for _, addr := range addrs {
		results[addr] = onlyPod(addr, found[addr])
	}

	return results, nil
}

// list queries EC2 for network interfaces, by their private address.
func (f *fargate) list(ctx context.Context, filters []types.Filter) (map[netip.Addr][]*pod, error) {
	found := map[netip.Addr][]*pod{}
	input := &ec2.DescribeNetworkInterfacesInput{Filters: filters}
	for pages := ec2.NewDescribeNetworkInterfacesPaginator(f.api, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe network interfaces: %w", err)
		}
		if page.NetworkInterfaces == nil {
			return nil, fmt.Errorf("describe network interfaces: %w", inventory.ErrNoList)
		}
		for k := range page.NetworkInterfaces {
			p := toPod(&page.NetworkInterfaces[k])
			found[p.ipv4] = append(found[p.ipv4], p)
		}
	}

	return found, nil
}

// filters returns the filters for interfaces with one of these addresses.
func (f *fargate) filters(addrs ...netip.Addr) []types.Filter {
	filters := []types.Filter{awstype.Filter("private-ip-address", lists.Map(addrs, netip.Addr.String)...)}
	if f.vpc != "" {
		filters = append(filters, awstype.Filter("vpc-id", f.vpc))
	}

	return filters
}

func onlyPod(addr netip.Addr, found []*pod) batch.Result[*pod] {
	switch len(found) {
	case 0:
		return batch.Result[*pod]{Err: errNoInterface}
	case 1:
		return batch.Result[*pod]{Value: found[0]}
	}

	return batch.Result[*pod]{Err: fmt.Errorf("%d network interfaces have the address %s: %w", len(found), addr, apierr.ErrConflict)}
}

func toPod(in *types.NetworkInterface) *pod {
	p := &pod{zone: aws.ToString(in.AvailabilityZone), dnsName: aws.ToString(in.PrivateDnsName)}
	p.attached = in.Attachment != nil && in.Attachment.Status == types.AttachmentStatusAttached
	p.ipv4, _ = address.Parse(aws.ToString(in.PrivateIpAddress)) // one without is not requested
	for _, ip := range in.Ipv6Addresses {
		if p.ipv6, _ = address.Parse(aws.ToString(ip.Ipv6Address)); p.ipv6.IsValid() {
			break
		}
	}

	return p
}

// addresses returns the addresses of the Node, family by family.
func (p *pod) addresses(families []address.Family) []v1.NodeAddress {
	var addresses []v1.NodeAddress
	for _, family := range families {
		addr := p.ipv4
		if family == address.IPv6 {
			addr = p.ipv6
		}
		if addr.IsValid() {
			addresses = append(addresses, address.Node(v1.NodeInternalIP, addr))
			addresses = appendName(addresses, v1.NodeInternalDNS, p.dnsName)
		}
	}

	return addresses
}

// fargateNode is a pod with the provider ID that it was found by.
type fargateNode struct {
	*pod
	providerID string
}

// ProviderID implements instance.Instance.
func (n fargateNode) ProviderID() string { return n.providerID }

// State implements instance.Instance. A Fargate node runs as long as it exists.
func (n fargateNode) State() instance.State { return instance.Running }
