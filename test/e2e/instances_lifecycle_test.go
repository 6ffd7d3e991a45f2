package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// fleet is a cluster of AWS whose nodes end in different ways.
type fleet struct {
	*cluster
	*region

	manager *manager
	// The instances by what becomes of them.
	on, off, ended, forgotten machine
}

// all are the nodes of all instances.
func (f *fleet) all() []string {
	return names([]machine{f.on, f.off, f.ended, f.forgotten})
}

// routes are the destinations of the routes to nodes.
func (f *fleet) routes() []string {
	var found []string
	for _, route := range f.Routes(f.seed.PrivateTable) {
		destination, _, _ := strings.Cut(route, " ")
		if strings.HasPrefix(destination, "10.244.") {
			found = append(found, destination)
		}
	}

	return found
}

func (f *fleet) awaitRoutes(t *testing.T, want ...string) {
	t.Helper()
	await(t, "the routes to be as the nodes are", func(context.Context) error {
		if got := f.routes(); !slices.Equal(got, want) {
			return fmt.Errorf("they go to %q, want %q", got, want)
		}

		return nil
	})
}

// AWS-NODE-1, AWS-NODE-2, AWS-ROUTE-3, FW-NODE-2: what becomes of the nodes of
// instances that were stopped, terminated or no longer listed, and of the
// routes to them.
func TestInstancesEnd(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	t.Run("Routed", f.testRoutes)
	t.Run("Stopped", f.testStopped)
	t.Run("Gone", f.testGone)
}

func startFleet(t *testing.T) *fleet {
	t.Helper()
	c := startCluster(t)
	r := c.startRegion(t)
	machines := r.add(4)
	f := &fleet{cluster: c, region: r, on: machines[0], off: machines[1], ended: machines[2], forgotten: machines[3]}
	c.joinAll(t, machines)
	c.setRanges(t, names(machines)...)
	f.manager = c.run(t, writeConfig(t, awsConfig), withRoutes...)
	c.awaitInitialized(t, f.all()...)

	return f
}

func (f *fleet) testRoutes(t *testing.T) {
	f.awaitRoutes(t, "10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24", "10.244.4.0/24")
	for _, m := range []machine{f.on, f.off, f.ended, f.forgotten} {
		if f.SourceDestCheck(f.Interfaces(m.id)[0]) {
			t.Errorf("AWS-ROUTE-5: %s drops what is not for itself", m.id)
		}
	}
	f.awaitRouted(t, f.all()...)
}

func (f *fleet) testStopped(t *testing.T) {
	f.SetState(f.off.id, aws.Stopped)
	f.setReady(t, v1.ConditionUnknown, f.on.name, f.off.name)
	f.awaitNode(t, f.off.name, "to be tainted", tainted(shutdown))
	if err := untainted(shutdown)(f.node(t, f.on.name)); err != nil {
		t.Errorf("the instance of node %s runs, but %v", f.on.name, err)
	}
	f.SetState(f.off.id, aws.Running)
	f.setReady(t, v1.ConditionTrue, f.on.name, f.off.name)
	f.awaitNode(t, f.off.name, "to lose its taint", untainted(shutdown))
}

func (f *fleet) testGone(t *testing.T) {
	const foreign, nameless = "foreign", "nameless"
	f.join(t, controlplane.NodeSpec{Name: nameless}, // no instance has its name, and it has no providerID
		controlplane.NodeSpec{Name: foreign, ProviderID: "vsphere://56492e42-22ad-3911-6d72-59cc8f26bc90"})
	f.initializeByHand(t, foreign)
	f.Terminate(f.ended.id)
	f.Remove(f.forgotten.id)
	f.setReady(t, v1.ConditionUnknown, append(f.all(), nameless, foreign)...)
	f.awaitGone(t, f.ended.name) // EC2 lists it as terminated, so its age does not count
	for _, name := range []string{f.forgotten.name, nameless} {
		f.manager.awaitLog(t, fmt.Sprintf(`Node is kept although its instance is missing" node=%q`, name))
	}
	f.manager.awaitLog(t, fmt.Sprintf(`Node belongs to another cloud and is left alone" node=%q`, foreign))

	f.age(t, f.on.name, f.off.name, f.forgotten.name, nameless, foreign)
	other := f.node(t, foreign)
	f.awaitGone(t, f.forgotten.name)
	f.awaitRoutes(t, "10.244.1.0/24", "10.244.2.0/24")
	f.manager.awaitPasses(t, 2)
	for _, name := range []string{f.on.name, f.off.name, nameless} {
		f.node(t, name)
	}
	f.wantUnchanged(t, other)
}
