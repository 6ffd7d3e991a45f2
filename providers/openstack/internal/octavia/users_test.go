package octavia_test

import (
	"context"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// What users change in the load balancer of a Service.

// first returns the parts of the first listener.
func (f *writeFixture) first() (*client.Listener, *client.Pool) {
	f.t.Helper()
	listeners, err := f.api.ListenersByLoadBalancer(f.t.Context(), f.lb)
	if err != nil || len(listeners) == 0 {
		f.t.Fatalf("listeners %v: %v", listeners, err)
	}
	pools, err := f.api.PoolsByLoadBalancer(f.t.Context(), f.lb)
	openstacktest.Must(f.t, err)
	for _, p := range pools {
		if p.ID == listeners[0].DefaultPoolID {
			return listeners[0], p
		}
	}
	f.t.Fatalf("listener %s has no pool", listeners[0].ID)

	return nil, nil
}

// write makes a change as a user.
func (f *writeFixture) write(send func(context.Context) error) {
	f.t.Helper()
	openstacktest.Must(f.t, f.env().Write(f.t.Context(), f.lb, send))
	f.settle()
}

// names are those of the Service.
func (f *writeFixture) names() request.Names { return request.NewNames(f.settings.ClusterName, web()) }
