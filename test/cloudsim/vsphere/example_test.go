package vsphere_test

import (
	"context"
	"fmt"
	"net/url"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

func Example() {
	spec, err := vsphere.ParseSpec([]byte(`
vcenters:
- name: vc-a
  datacenters:
  - name: dc
    clusters: [{name: cluster, tags: {k8s-zone: zone-a}}]
    vms:
    - name: node-1
      nics: [{ips: [10.0.0.1]}]
`))
	if err != nil {
		panic(err)
	}
	cloud, err := vsphere.Start(spec)
	if err != nil {
		panic(err)
	}
	defer cloud.Close()
	v := cloud.VCenter("vc-a")
	v.Inject("FindByUuid", simserver.Nth(1), vsphere.Fault(&types.NoPermission{}))

	ctx := context.Background()
	login := v.URL()
	login.User = url.UserPassword(v.User(), v.Password())
	client, err := govmomi.NewClient(ctx, login, true)
	if err != nil {
		panic(err)
	}
	index := object.NewSearchIndex(client.Client)
	for range 2 {
		vm, err := index.FindByUuid(ctx, nil, cloud.VM("node-1").UUID(), true, nil)
		fmt.Println(vm != nil, err)
	}
	fmt.Println(v.Count("FindByUuid"), "searches,", len(v.Sessions()), "session")
	if err := client.Logout(ctx); err != nil {
		panic(err)
	}
	fmt.Println(len(v.Sessions()), "sessions left")
	// Output:
	// false ServerFaultCode: NoPermission
	// true <nil>
	// 2 searches, 1 session
	// 0 sessions left
}
