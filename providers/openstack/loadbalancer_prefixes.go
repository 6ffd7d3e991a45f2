package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
)

// prefixes has the CIDRs of subnets by their IDs. They never change (neutron:
// db/db_base_plugin_v2.py, update_subnet). That the project cannot see a subnet can change,
// and is stored for as long as what is known of networks. The zero value is empty.
type prefixes struct {
	mu  sync.Mutex
	all map[string]netip.Prefix
	// invisible is when the project could last not see a subnet.
	invisible map[string]time.Time
}

// of returns the CIDRs of subnets. Those that the project cannot see are left out.
func (p *prefixes) of(ctx context.Context, network *client.NetworkService, ids []string) (map[string]netip.Prefix, error) {
	found, missing := p.stored(ids)
	if len(missing) == 0 {
		return found, nil
	}
	subnets, err := network.SubnetsByID(ctx, missing)
	if err != nil {
		return nil, fmt.Errorf("read the subnets of members: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range missing {
		p.invisible[id] = time.Now()
	}
	for _, subnet := range subnets {
		prefix, err := netip.ParsePrefix(subnet.CIDR)
		if err != nil {
			continue
		}
		found[subnet.ID] = prefix.Masked()
		p.all[subnet.ID] = prefix.Masked()
		delete(p.invisible, subnet.ID)
	}

	return found, nil
}

// stored returns the CIDRs that were read before, and the IDs that are to be read.
func (p *prefixes) stored(ids []string) (found map[string]netip.Prefix, missing []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all, p.invisible = map[string]netip.Prefix{}, map[string]time.Time{}
	}
	found = map[string]netip.Prefix{}
	for _, id := range ids {
		if prefix, ok := p.all[id]; ok {
			found[id] = prefix
		} else if time.Since(p.invisible[id]) >= networks.DefaultMaxAge {
			missing = append(missing, id)
		}
	}

	return found, missing
}
