package vsphere

import (
	"context"
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider/providertest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// TestLifecycle starts and closes the provider many times. It is not parallel: the
// goroutines of other tests would count.
func TestLifecycle(t *testing.T) {
	spec := one(sim.VMSpec{Name: "node-1"})
	spec.InMemory = true
	fleet, err := sim.Start(sim.Spec{VCenters: []sim.VCenterSpec{spec}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
	vc := fleet.VCenter("vc")
	manager := vspheretest.StartManager(t, nsxt.Spec{RealizationTime: -1})
	file, err := config.Parse("cloud.conf", []byte("[Global]\nsecret-name = credentials\nsecret-namespace = kube-system\n"+section("vc", vc)+routeSection+manager.Section(t)))
	if err != nil {
		t.Fatal(err)
	}
	node := kubetest.Node("node-1", kubetest.ProviderID(id(fleet.VM("node-1"))), old)
	times := quick
	times.session.Dial, times.nsxt.Dial = vc.Dial, manager.Dial
	server := vc.URL().Hostname()
	providertest.Run(t, providertest.Lifecycle{
		New: func() (providertest.Cloud, error) {
			cfg, _, problems := decode(file, environment{hasDirectory: func(string) bool { return false }})
			if err := problems.Err(); err != nil {
				return nil, err
			}

			return newCloudFrom(cfg, environment{}, nil, times)
		},
		Use: func(ctx context.Context, c providertest.Cloud) error {
			instances, _ := c.InstancesV2()
			if exists, err := instances.InstanceExists(ctx, node); err != nil || !exists {
				return errors.Join(err, errors.New("the Node was not found"))
			}
			routes, _ := c.Routes()

			return routes.CreateRoute(ctx, "kubernetes", "uid", &cloudprovider.Route{
				TargetNode: "node-1", DestinationCIDR: "10.244.1.0/24",
				TargetNodeAddresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}},
			})
		},
		Kubernetes: &providertest.Kubernetes{Secrets: []v1.Secret{{Data: map[string][]byte{
			server + ".username": []byte(vc.User()), server + ".password": []byte(vc.Password()),
		}}}},
		Left: func() []string {
			var left []string
			for _, session := range vc.Sessions() {
				left = append(left, fmt.Sprintf("%+v", session))
			}

			return left
		},
	})
}
