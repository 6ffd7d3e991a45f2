package e2e

import (
	"fmt"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// project is a simulated OpenStack cloud with the servers of a cluster.
type project struct {
	*openstack.Cloud

	// ids are the servers by the names of their nodes, addresses are theirs.
	ids, addresses map[string]string
	// router connects the network of the servers.
	router string
}

// startProject runs a simulated OpenStack cloud until the test has ended, with servers of
// these names that join a cluster.
func (c *cluster) startProject(t *testing.T, servers ...string) *project {
	t.Helper()
	cloud, err := openstack.Start(openstack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &project{Cloud: cloud, ids: map[string]string{}, addresses: map[string]string{}, router: addNetworks(cloud)}
	for _, name := range servers {
		c.join(t, p.add(name))
	}

	return p
}

// add starts a server and returns its node.
func (p *project) add(name string) controlplane.NodeSpec {
	ip := fmt.Sprintf("10.0.%d.%d", len(p.ids)/200, 10+len(p.ids)%200)
	p.addresses[name] = ip
	p.ids[name] = p.AddServer(openstack.ServerSpec{
		Name: name, Zone: "az-1", Networks: []openstack.ServerNetwork{{Name: "cluster", IPs: []string{ip}}},
	})

	return controlplane.NodeSpec{Name: name, SystemUUID: p.ids[name]}
}

// config is the cloud-config for the user of a cluster.
func (p *project) config() string {
	user := p.AuthOptions(openstack.UserCCM)

	return fmt.Sprintf("[Global]\nprovider = openstack\nauth-url = %q\nregion = %q\nusername = %q\npassword = %q\ndomain-id = %q\ntenant-id = %q\n",
		p.AuthURL(), p.Regions()[0], user.Username, user.Password, user.DomainID, user.TenantID)
}
