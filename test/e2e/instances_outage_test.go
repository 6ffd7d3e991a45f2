package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// regionOutage is one way for AWS to be of no use.
type regionOutage struct {
	reason string
	begin  func(r *region)
	end    func(r *region) error
	// code is what failed calls are counted under.
	code string
}

func regionOutages() map[string]regionOutage {
	up := func(r *region) error { return r.Server().Up() }
	restore := func(r *region) error {
		r.Interceptor().Clear()

		return nil
	}

	return map[string]regionOutage{
		"down": {reason: "nothing listens", begin: func(r *region) { r.Server().Down() }, end: up, code: "unavailable"},
		"refusing": {
			reason: "the policy of the role was taken away: what may not be seen is not gone",
			begin:  func(r *region) { r.Interceptor().Inject("ec2", simserver.Always(), aws.Denied()) }, end: restore, code: "denied",
		},
	}
}

// FW-NODE-6, FW-METRIC-3: while AWS is of no use no Node is deleted and the
// process lives; afterwards it continues without a restart. The conformance suite has
// more kinds of outages.
func TestRegionOutageDeletesNothing(t *testing.T) {
	t.Parallel()
	for name, o := range regionOutages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Log(o.reason)
			testRegionOutage(t, o)
		})
	}
}

func testRegionOutage(t *testing.T, o regionOutage) {
	c := startCluster(t)
	r := c.startRegion(t)
	machines := r.add(2)
	there, gone := machines[0].name, machines[1].name
	m := c.run(t, writeConfig(t, awsConfig))
	c.joinAll(t, machines)
	c.awaitInitialized(t, there, gone)

	o.begin(r)
	// A third one, whose instance never was. It joins during the outage: its absence
	// must not have been confirmed before.
	c.join(t, controlplane.NodeSpec{Name: "unknown", ProviderID: "aws:///us-west-2a/i-0dead0dead0dead00"})
	c.initializeByHand(t, "unknown")
	all := []string{there, gone, "unknown"}
	r.Remove(machines[1].id)
	late := r.add(1)
	c.joinAll(t, late)
	c.setReady(t, v1.ConditionUnknown, all...)
	m.await(t, "calls to fail", func(ctx context.Context) error {
		failed, err := m.metric(ctx, "multicloud_ccm_cloud_requests_total", fmt.Sprintf("code=%q", o.code))
		if err == nil && failed == 0 {
			err = errors.New("none has")
		}

		return err
	})
	c.age(t, all...)
	m.awaitUndecided(t, gone, "unknown")
	for _, name := range all {
		c.node(t, name)
	}
	if err := tainted(uninitialized)(c.node(t, late[0].name)); err != nil {
		t.Errorf("node %s was initialized by a cloud that is out of reach: %v", late[0].name, err)
	}
	if err := m.WaitHealthy(t.Context()); err != nil {
		t.Errorf("an outage of the cloud is no reason for a restart: %v", err)
	}

	if err := o.end(r); err != nil {
		t.Fatal(err)
	}
	c.awaitInitialized(t, late[0].name)
	c.awaitGone(t, gone)
	c.awaitGone(t, "unknown")
	m.awaitPasses(t, 2)
	c.node(t, there)
}
