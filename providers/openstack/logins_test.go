package openstack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// OS-AUTH-2 over restarts: the processes of one cluster share the limit of refused logins
// by a Lease, which has neither the password nor the user.
func TestRestartsDoNotLockTheAccount(t *testing.T) {
	t.Parallel()
	cloud := openstacktest.Start(t, openstack.Options{})
	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1"})
	node := kubetest.Node("node-1", kubetest.ProviderID("openstack:///"+id), old)
	api := kubetest.NewClientset(node)
	user := cloud.AuthOptions(openstack.UserCCM)
	text := strings.Replace(cloud.CloudConfig(openstack.UserCCM, ""), fmt.Sprintf("%q", user.Password), `"wr0ng"`, 1)
	times := tuning{client: client.Options{LoginTimeout: 2 * time.Second, RetryTime: time.Second}}
	for range 4 {
		c := connectTo(t, api, noEnvironment(), text, times)
		if exists, err := c.instances.InstanceExists(t.Context(), node); err == nil {
			t.Errorf("InstanceExists is %t without a login", exists)
		}
	}
	// The delay after the first one is for all processes, and may have passed once.
	if n := cloud.Interceptor().Count("keystone.CreateToken"); n < 1 || n > 2 {
		t.Errorf("%d logins of four processes, want one or two", n)
	}
	lease, err := api.CoordinationV1().Leases(login.LeaseNamespace).Get(t.Context(), login.LeaseName(ProviderName), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored := lease.Annotations[login.LeaseAnnotation]
	if !strings.Contains(stored, `"refused":true`) || strings.Contains(stored, "wr0ng") || strings.Contains(stored, user.Username) {
		t.Errorf("stored: %s", stored)
	}
}

// A client for the Lease comes with Initialize: until then the store is unavailable.
func TestLoginStoreIsOpenedLater(t *testing.T) {
	t.Parallel()
	store := new(loginStore)
	if _, err := store.Load(t.Context()); err == nil {
		t.Error("a store without a client was read")
	}
	if err := store.Save(t.Context(), login.Record{}); err == nil {
		t.Error("a store without a client was written")
	}
	store.open(kubetest.NewClientset())
	if _, err := store.Load(t.Context()); err != nil {
		t.Errorf("an empty store: %v", err)
	}
}
