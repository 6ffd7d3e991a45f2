package aws

import (
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/schedules"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestSchedules (FW-NODE-1, FW-NODE-2, FW-NODE-6, FW-NODE-15, FW-NODE-16): while EC2 fails in every way, no Node of an
// existing instance is deleted, and those of others are soon after it works again. With a source that proves
// nothing, wrong ones are deleted, and the limit makes them fewer.
func TestSchedules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		trusting         bool
		text             string
		race, short, all int
	}{
		"proven":           {race: 2, short: 2, all: schedules.Group},
		"trusting":         {trusting: true, text: "[NodeDeletion]\nlimit = 0\n", race: 1, short: 1, all: 5},
		"trusting limited": {trusting: true, race: 1, short: 1, all: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := &schedules.Report{Trusting: tc.trusting, Limited: tc.text == ""}
			t.Cleanup(func() { report.Print(t) })
			schedules.Groups(t, profile.Of(1, schedules.AllGroups, schedules.AllGroups), profile.Of(tc.race, tc.short, tc.all), func(t *testing.T, first, end int) {
				r := newRegion(t, sim.Options{InMemory: true, PageSize: 50})
				ids := r.seed.AddNodes(schedules.Nodes)
				start := r.Snapshot()
				for seed := first; seed < end; seed++ {
					r.Restore(start)
					r.Interceptor().Clear()
					r.Interceptor().Reset()
					r.scheduled(t, ids, tc.text, tc.trusting).Run(t, seed, report)
				}
			})
		})
	}
}

// scheduled makes a process whose cluster has instances of the region as Nodes.
func (r *region) scheduled(t *testing.T, ids []string, text string, trusting bool) schedules.Cluster {
	t.Helper()
	cfg, problems := decode(parseConfig(t, r.file()+text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	base, err := client.Load(t.Context(), client.Options{Middleware: []func(*middleware.Stack) error{r.ServeDirectly}})
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{config: cfg, identity: identity{Region: r.Region(), VPC: r.seed.VPC, Cluster: cluster.ID{Name: demo}}}
	if c.clients, err = base.In(t.Context(), r.Region()); err != nil {
		t.Fatal(err)
	}
	c.serveNodes()
	nodes := make([]*v1.Node, 0, len(ids))
	for _, id := range ids {
		nodes = append(nodes, node(id))
	}
	store := r.withNodes(c, nodes...)
	if trusting {
		c.instances = instance.New(schedules.Trusting{Source: c.source}, instance.Options{
			Provider: ProviderName, DeletionLimit: cfg.deletionLimit, Nodes: func() int { return c.source.Nodes().Len() },
		})
	}

	return schedules.Cluster{
		Nodes: nodes, Instances: c.instances, Fault: r.fault,
		Delete: func(i int) bool {
			if i%2 == 0 {
				r.Terminate(ids[i])
			} else {
				r.Remove(ids[i])
			}

			return true
		},
		Remove: func(i int) {
			if err := store.Delete(nodes[i]); err != nil {
				t.Error(err)
			}
		},
		Close: func() {
			for _, d := range c.instances.Decisions() {
				if len(d.Reports) == 0 || !trusting && d.Reports[0].Place != "EC2 in us-west-2" {
					t.Errorf("who said that the instance is gone is not known: %+v", d)
				}
			}
			time.Sleep(time.Minute) // lists end
			if err := c.clients.Close(t.Context()); err != nil {
				t.Error(err)
			}
		},
	}
}

// fault begins a fault of EC2.
func (r *region) fault(rnd *rand.Rand) (what string, end func()) {
	faults := []struct {
		what  string
		fault simserver.Fault
	}{
		{"500", sim.Error(http.StatusInternalServerError, "InternalError", "An internal error has occurred")},
		{"503", sim.Error(http.StatusServiceUnavailable, "Unavailable", "The service is unavailable")},
		{"throttled", sim.Throttled()},
		{"denied", sim.Denied()},
		{"hangs", hang},
		{"slow", simserver.Slow(time.Duration(1+rnd.IntN(20)) * time.Second)},
		{"dropped", simserver.Drop()},
		{"lost response", simserver.DropResponse()},
		{"404 of a proxy", simserver.Page(http.StatusNotFound)},
		{"200 of a proxy", simserver.Page(http.StatusOK)},
		{"empty body", simserver.Status(http.StatusOK)},
		{"lost pages", lostPages},
		{"lost pages", lostPages},
	}
	f := faults[rnd.IntN(len(faults))]

	return f.what, r.Interceptor().Inject("ec2", simserver.Always(), f.fault).Remove
}

// lostPages makes all pages of a list but the first empty.
func lostPages(w http.ResponseWriter, r *http.Request, apply http.Handler) {
	if !r.Form.Has("NextToken") {
		apply.ServeHTTP(w, r)

		return
	}
	_, _ = io.WriteString(w, `<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>1</requestId><reservationSet/></DescribeInstancesResponse>`)
}
