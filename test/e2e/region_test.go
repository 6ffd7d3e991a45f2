package e2e

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// awsConfig is all that a file for AWS needs on an instance of the cluster.
const awsConfig = "[Global]\nprovider = aws\n"

// region is a simulated region with the VPC of a cluster.
type region struct {
	*aws.Cloud

	seed *aws.Seed
}

// startRegion runs a simulated region until the test has ended, and lets the
// processes of the cluster find it: by their environment, which has nothing of
// the developer's, and by the instance metadata of the first instance.
func (c *cluster) startRegion(t *testing.T) *region {
	t.Helper()
	cloud, err := aws.Start(aws.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	c.environment = cloud.Environment()

	return &region{Cloud: cloud, seed: cloud.Seed("e2e")}
}

// machine is an instance with the Node that it joins as.
type machine struct{ id, name string }

// add makes n instances of the cluster, which are nodes by their names.
func (r *region) add(n int) []machine {
	var machines []machine
	for _, id := range r.seed.AddNodes(n) {
		machines = append(machines, machine{id, r.PrivateDNSName(id)})
	}

	return machines
}

// names are those of the nodes of machines, ids those of their instances.
func names(machines []machine) []string {
	var all []string
	for _, m := range machines {
		all = append(all, m.name)
	}

	return all
}

func ids(machines []machine) []string {
	var all []string
	for _, m := range machines {
		all = append(all, m.id)
	}

	return all
}

// joinAll registers the nodes of machines.
func (c *cluster) joinAll(t *testing.T, machines []machine) {
	t.Helper()
	for _, name := range names(machines) {
		c.join(t, controlplane.NodeSpec{Name: name})
	}
}

// wantNoLeaks checks that nothing is left of what processes have made.
func (r *region) wantNoLeaks(t *testing.T) {
	t.Helper()
	for _, left := range r.Leaks() {
		t.Errorf("left in the cloud: %s", left)
	}
}
