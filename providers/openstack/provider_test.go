package openstack

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestFactory (OS-NODE-1): everything that can be known offline is checked, and no request is
// made.
func TestFactory(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 0, openstack.Options{})
	if _, err := newCloud(nil); err == nil || !strings.Contains(err.Error(), textNoConfig) {
		t.Errorf("no cloud-config: %v", err)
	}
	if made, err := newCloud(strings.NewReader("[Global]\n")); err == nil || made != nil {
		t.Errorf("an empty cloud-config: %v, %v", made, err)
	}
	made, err := newCloud(strings.NewReader(f.CloudConfig(openstack.UserCCM, "")))
	must(t, err)
	c := made.(*cloud)
	t.Cleanup(func() {
		if err := c.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	offered := map[string]bool{}
	_, offered["Instances"] = c.Instances()
	_, offered["InstancesV2"] = c.InstancesV2()
	_, offered["Zones"] = c.Zones()
	_, offered["Clusters"] = c.Clusters()
	_, offered["Routes"] = c.Routes()
	_, offered["LoadBalancer"] = c.LoadBalancer()
	want := map[string]bool{
		"Instances": false, "InstancesV2": true, "Zones": false, "Clusters": false, "Routes": false, "LoadBalancer": true,
	}
	check(t, "offered", want, offered)
	if c.ProviderName() != "openstack" || !c.HasClusterID() || !cloudprovider.IsCloudProvider("openstack") {
		t.Errorf("name %q, cluster ID %t", c.ProviderName(), c.HasClusterID())
	}
	if n := f.Interceptor().Total(); n != 0 {
		t.Errorf("%d requests before the first one is needed", n)
	}
}

// TestLoadBalancersDisabled: with enabled = false, Services get no load balancers.
func TestLoadBalancersDisabled(t *testing.T) {
	t.Parallel()
	c := newFleet(t, 1, openstack.Options{}).connect(t, "[LoadBalancer]\nenabled = false\n", quick())
	if balancing, offered := c.LoadBalancer(); balancing != nil || offered {
		t.Errorf("offered: %v, %t", balancing, offered)
	}
}

// TestUserAgentFlag: each occurrence of --user-agent is one component.
func TestUserAgentFlag(t *testing.T) {
	t.Parallel()
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	var components []string
	addFlags(set, &components)
	must(t, set.Parse([]string{"--user-agent", "a b", "--user-agent=c,d"}))
	check(t, "components", []string{"a b", "c,d"}, components)
}
