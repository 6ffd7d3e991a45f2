package openstack

import (
	"fmt"
	"time"
)

// RowTimes are how long lists take for each of their rows, in addition to the latency of the
// call: a page of 1,000 ports takes minutes where one port takes a blink.
type RowTimes struct{ Server, Port, LoadBalancer time.Duration }

// LargeCloudRowTimes returns the times of large clouds that their users have published.
func LargeCloudRowTimes() RowTimes {
	return RowTimes{
		// https://github.com/meridor/perspective-backend/issues/209: 2,000 servers in up to 10 s.
		Server: 5 * time.Millisecond,
		// https://github.com/sapcc/helm-charts/pull/297: 100 ports in 4.5 s, 500 in just over 20 s.
		Port: 40 * time.Millisecond,
		// https://github.com/SAP-cloud-infrastructure/elektra/issues/741: the list of all takes too
		// long for a user who waits.
		LoadBalancer: 20 * time.Millisecond,
	}
}

// SetRowTimes sets the times of all lists from now on; none by default.
func (c *Cloud) SetRowTimes(times RowTimes) { c.inspect(func() { c.rowTimes = times }) }

// of returns the time of the rows of a response.
func (t RowTimes) of(r response) time.Duration {
	body, _ := r.body.(map[string]any)
	for key, each := range map[string]time.Duration{"servers": t.Server, "ports": t.Port, "loadbalancers": t.LoadBalancer} {
		if rows, ok := body[key].([]object); ok {
			return time.Duration(len(rows)) * each
		}
	}

	return 0
}

// AddLargeProject adds the servers of nodes to a network, called node-1 and so on, and those of
// others until the project has 5,000 servers and 20,000 ports. It returns the IDs of the former.
func (c *Cloud) AddLargeProject(network string, nodes int) []string {
	const servers, ports, subnet = 5_000, 20_000, 250
	var ids []string
	for i := range servers {
		name := fmt.Sprintf("node-%d", i+1)
		if i >= nodes {
			name = fmt.Sprintf("other-%d", i+1)
		}
		ids = append(ids, c.AddServer(ServerSpec{Name: name, Networks: []ServerNetwork{
			{Name: network, IPs: []string{fmt.Sprintf("10.0.%d.%d", i/subnet, 2+i%subnet)}},
		}}))
	}
	others := c.AddNetwork(NetworkSpec{Name: network + "-of-others"})
	for range ports - servers {
		c.AddPort(PortSpec{Network: others, IPs: []string{}, NoPortSecurity: true})
	}

	return ids[:nodes]
}
