package nodes

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const (
	describeTopology = "DescribeInstanceTopology"
	// mustHave is a type that matches the default pattern, mayHave one that does not.
	mustHave, mayHave = "p5.48xlarge", "g6.xlarge"
)

// TestTopologyOfMixedType: an instance without topology proves nothing
// about the others of its type.
func TestTopologyOfMixedType(t *testing.T) {
	t.Parallel()
	r := awstest.Start(t, awstest.Throttled())
	o := sourceIn(t, r, Config{Tuning: Tuning{Window: 100 * time.Millisecond}}, awstest.Paced()).topology
	with := r.Cluster.AddNode(sim.InstanceSpec{Type: mayHave, NetworkNodes: []string{"a"}})
	without := r.Cluster.AddNode(sim.InstanceSpec{Type: mayHave})
	got := map[string][]string{}
	results, err := o.fetch(t.Context(), []topologyKey{{with, mayHave}, {without, mayHave}})
	if err != nil {
		t.Fatal(err)
	}
	for p, result := range results {
		got[p.id] = result.Value
	}
	later := r.Cluster.AddNode(sim.InstanceSpec{Type: mayHave, NetworkNodes: []string{"b"}})
	if got[later], err = o.find(t.Context(), topologyKey{later, mayHave}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{with: {"a"}, without: nil, later: {"b"}}, got); diff != "" {
		t.Errorf("AWS-TOPOLOGY-3: layers (-want +got):\n%s", diff)
	}
	if calls := r.ThrottledCalls(); len(calls) > 0 {
		t.Errorf("calls were throttled: %v", calls)
	}
}

// TestTopologyOfDeleted: a deleted instance does not fail the others
// (AWS-TOPOLOGY-6, AWS-API-5).
func TestTopologyOfDeleted(t *testing.T) {
	t.Parallel()
	r := awstest.Start(t, awstest.Throttled())
	o := sourceIn(t, r, Config{}, awstest.Paced()).topology
	existing := r.Cluster.AddNode(sim.InstanceSpec{Type: mustHave, NetworkNodes: []string{"a"}})
	gone := r.Cluster.AddNodes(3)
	keys := []topologyKey{{existing, mustHave}}
	for _, id := range gone {
		keys = append(keys, topologyKey{id, mustHave})
		r.Remove(id)
	}
	results, err := o.fetch(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	if got := results[keys[0]]; got.Err != nil || !slices.Equal(got.Value, []string{"a"}) {
		t.Errorf("AWS-API-5: got %v, %v", got.Value, got.Err)
	}
	for _, p := range keys[1:] {
		if results[p].Err == nil {
			t.Errorf("AWS-API-5: instance %s is gone, and that is no error", p.id)
		}
	}
	if calls := r.Interceptor().Count(describeTopology); calls > maxDead {
		t.Errorf("AWS-TOPOLOGY-6: %d calls", calls)
	}
	results, err = o.fetch(t.Context(), keys[1:])
	if err != nil || len(results) != 3 {
		t.Errorf("AWS-API-5: only deleted ones: got %v, %v", results, err)
	}
	if calls := r.ThrottledCalls(); len(calls) > 0 {
		t.Errorf("calls were throttled: %v", calls)
	}
}

// TestTopologySkipped: without a type no call is made.
func TestTopologySkipped(t *testing.T) {
	t.Parallel()
	r := awstest.Start(t, awstest.Unthrottled())
	s := sourceIn(t, r, Config{}, awstest.Impatient())
	labels, err := s.topology.labels(t.Context(), kubetest.Node("n"), facts{id: "i-0abc"})
	if err != nil || len(labels) != 0 || r.Interceptor().Total() != 0 {
		t.Errorf("got %v, %v, %d calls", labels, err, r.Interceptor().Total())
	}
}

// TestTopologyAtTheNextAttempt: a Node that waits is attempted every five
// seconds. The failure of one attempt is not the result of the next one.
func TestTopologyAtTheNextAttempt(t *testing.T) {
	t.Parallel()
	r := awstest.Start(t, sim.Options{})
	id := r.Cluster.AddNode(sim.InstanceSpec{Type: mustHave, NetworkNodes: []string{"a"}})
	synctest.Test(t, func(t *testing.T) {
		o := sourceIn(t, r, Config{VPC: r.Cluster.VPC}, client.Tuning{}).topology
		r.Interceptor().Inject("DescribeInstanceTopology", simserver.Nth(1), func(w http.ResponseWriter, q *http.Request, apply http.Handler) {
			time.Sleep(time.Second)
			sim.Error(http.StatusBadRequest, "InvalidParameterValue", "No.")(w, q, apply)
		})
		begun := time.Now()
		if _, err := o.find(t.Context(), topologyKey{id, mustHave}); err == nil {
			t.Error("the first attempt found the topology")
		}
		time.Sleep(time.Until(begun.Add(5 * time.Second)))
		if nodes, err := o.find(t.Context(), topologyKey{id, mustHave}); err != nil || len(nodes) != 1 {
			t.Errorf("the next attempt: %v, %v", nodes, err)
		}
	})
}

// TestNotFound reads the instances out of EC2's words.
func TestNotFound(t *testing.T) {
	t.Parallel()
	if got := notFound(errors.New("the instance ID 'i-0abc' does not exist")); len(got) != 0 {
		t.Errorf("an error of another account names %v", got)
	}
}
