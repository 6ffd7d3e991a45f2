// Package clouds runs a simulated cloud for each provider, with machines that are to join a
// cluster, and has the values of the chart for all of them.
package clouds

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// Clouds is a running cloud for each provider.
type Clouds struct {
	Region  *aws.Cloud
	Project *openstack.Cloud
	VCenter *vsphere.VCenter
	// Machines are those that Start has made, by provider.
	Machines map[string][]controlplane.NodeSpec

	vcenters *vsphere.Cloud
}

// Start runs the clouds, with n machines each. The vCenter has these VMs, too. Close ends
// them.
func Start(n int, vms ...vsphere.VMSpec) (*Clouds, error) {
	c := &Clouds{Machines: map[string][]controlplane.NodeSpec{}}
	err := errors.Join(c.startRegion(n), c.startProject(n), c.startVCenter(n, vms))
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}

	return c, nil
}

func (c *Clouds) startRegion(n int) error {
	var err error
	if c.Region, err = aws.Start(aws.Options{}); err != nil {
		return fmt.Errorf("start region: %w", err)
	}
	for _, id := range c.Region.Seed("e2e").AddNodes(n) {
		c.add("aws", controlplane.NodeSpec{Name: c.Region.PrivateDNSName(id)})
	}

	return nil
}

func (c *Clouds) startProject(n int) error {
	var err error
	if c.Project, err = openstack.Start(openstack.Options{}); err != nil {
		return fmt.Errorf("start project: %w", err)
	}
	network := c.Project.AddNetwork(openstack.NetworkSpec{Name: "cluster"})
	c.Project.AddSubnet(openstack.SubnetSpec{Network: network, CIDR: "10.0.0.0/24"})
	for i := range n {
		name := fmt.Sprintf("server-%d", i)
		port := openstack.ServerNetwork{Name: "cluster", IPs: []string{fmt.Sprintf("10.0.0.%d", 10+i)}}
		id := c.Project.AddServer(openstack.ServerSpec{Name: name, Zone: "az-1", Networks: []openstack.ServerNetwork{port}})
		c.add("openstack", controlplane.NodeSpec{Name: name, SystemUUID: id})
	}

	return nil
}

func (c *Clouds) startVCenter(n int, vms []vsphere.VMSpec) error {
	datacenter := vsphere.DatacenterSpec{Name: "dc", VMs: vms}
	for i := range n {
		name := fmt.Sprintf("vm-%d", i)
		datacenter.VMs = append(datacenter.VMs, vsphere.VMSpec{Name: name, NICs: []vsphere.NIC{{IPs: []string{fmt.Sprintf("10.1.0.%d", i+1)}}}})
		c.add("vsphere", controlplane.NodeSpec{Name: name})
	}
	vcenters, err := vsphere.Start(vsphere.Spec{VCenters: []vsphere.VCenterSpec{{Name: "vc", Datacenters: []vsphere.DatacenterSpec{datacenter}}}})
	if err != nil {
		return fmt.Errorf("start vCenter: %w", err)
	}
	c.vcenters, c.VCenter = vcenters, vcenters.VCenter("vc")

	return nil
}

func (c *Clouds) add(provider string, machine controlplane.NodeSpec) {
	c.Machines[provider] = append(c.Machines[provider], machine)
}

// Next returns a machine of a provider that has not been returned yet. It panics when there is
// none left.
func (c *Clouds) Next(provider string) controlplane.NodeSpec {
	machine := c.Machines[provider][0]
	c.Machines[provider] = c.Machines[provider][1:]

	return machine
}

// Close stops the clouds.
func (c *Clouds) Close() error {
	var problems []error
	if c.Region != nil {
		problems = append(problems, c.Region.Close())
	}
	if c.Project != nil {
		problems = append(problems, c.Project.Close())
	}
	if c.vcenters != nil {
		problems = append(problems, c.vcenters.Close())
	}

	return errors.Join(problems...)
}

// Values are the values of the chart for all providers. The certificate of the vCenter must be in
// the ConfigMap cloud-ca, with the key ca.crt.
func (c *Clouds) Values() (map[string]any, error) {
	vcenter, err := VCenterValues(c.VCenter)
	if err != nil {
		return nil, err
	}

	return map[string]any{
		"aws":       map[string]any{"config": map[string]any{}},
		"env":       Variables(c.Region.Environment()),
		"openstack": map[string]any{"config": map[string]any{"Global": ProjectValues(c.Project)}},
		"vsphere":   vcenter,
		"caBundle":  map[string]any{"configMap": "cloud-ca"},
	}, nil
}

// Variables are environment variables, each NAME=value, as values of a chart.
func Variables(environment []string) []any {
	var all []any
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		all = append(all, map[string]any{"name": name, "value": value})
	}

	return all
}

// ProjectValues are the keys of [Global] for the user of a cluster.
func ProjectValues(cloud *openstack.Cloud) map[string]any {
	user := cloud.AuthOptions(openstack.UserCCM)

	return map[string]any{
		"auth-url": cloud.AuthURL(), "region": cloud.Regions()[0], "username": user.Username, "password": user.Password,
		"domain-id": user.DomainID, "tenant-id": user.TenantID,
	}
}

// VCenterValues are the values for a vCenter, whose password is in a Secret of its own.
func VCenterValues(vc *vsphere.VCenter) (map[string]any, error) {
	address, port, err := net.SplitHostPort(vc.Address())
	if err != nil {
		return nil, fmt.Errorf("read address of vCenter: %w", err)
	}

	return map[string]any{
		"config": map[string]any{"VirtualCenter": map[string]any{address: map[string]any{"port": port}}},
		"credentials": map[string]any{
			"create":  true,
			"servers": map[string]any{address: map[string]any{"username": vc.User(), "password": vc.Password()}},
		},
	}, nil
}
