package nodes

import (
	"context"
	"fmt"
	"reflect"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// interfaceCases are about the provider as an object.
func interfaceCases() []testCase {
	noSessions := func(a Adapter) bool { return a.Without.Sessions }

	return []testCase{
		{Name: "the provider returns its name", Run: returnsItsName},
		{Name: "a cluster ID is there", Run: hasClusterID},
		{Name: "only InstancesV2 is offered for nodes", Run: offersInstancesV2Only},
		{Name: "getters are constant and cost nothing", Run: constantGetters},
		{Name: "Close ends the sessions for good", LeftOut: noSessions, Run: closeEndsSessions},
		{Name: "Close of a hanging cloud returns", LeftOut: noSessions, Run: closeReturns},
	}
}

func returnsItsName(f *fixture) {
	f.connect()
	if got := f.provider.ProviderName(); got != f.adapter.Provider {
		f.T.Errorf("ProviderName is %q, want %q", got, f.adapter.Provider)
	}
}

func hasClusterID(f *fixture) {
	f.connect()
	if !f.provider.HasClusterID() {
		f.T.Error("HasClusterID is false: the binary would not start")
	}
}

// offersInstancesV2Only: the older interfaces look Nodes up by name, and confuse
// those of several clouds.
func offersInstancesV2Only(f *fixture) {
	f.connect()
	if _, ok := f.provider.Instances(); ok {
		f.T.Error("Instances is offered")
	}
	if _, ok := f.provider.Zones(); ok {
		f.T.Error("Zones is offered")
	}
	if _, ok := f.provider.Clusters(); ok {
		f.T.Error("Clusters is offered")
	}
}

// getter is what one of the provider's getters returned.
type getter struct {
	name  string
	value any
	ok    bool
}

// getters calls them all.
func getters(p cloudprovider.Interface) []getter {
	var all []getter
	add := func(name string, value any, ok bool) { all = append(all, getter{name, value, ok}) }
	loadBalancer, ok := p.LoadBalancer()
	add("LoadBalancer", loadBalancer, ok)
	nodes, ok := p.InstancesV2()
	add("InstancesV2", nodes, ok)
	routes, ok := p.Routes()
	add("Routes", routes, ok)
	instances, ok := p.Instances()
	add("Instances", instances, ok)
	zones, ok := p.Zones()
	add("Zones", zones, ok)
	clusters, ok := p.Clusters()
	add("Clusters", clusters, ok)
	add("ProviderName", p.ProviderName(), true)
	add("HasClusterID", p.HasClusterID(), true)

	return all
}

// same reports whether two results of a getter are the same object.
func same(a, f any) bool {
	if a == nil || f == nil {
		return a == nil && f == nil
	}

	return reflect.TypeOf(a) == reflect.TypeOf(f) && reflect.TypeOf(a).Comparable() && a == f
}

// constantGetters: the node controllers call them for every node.
func constantGetters(f *fixture) {
	f.connect()
	f.initialize(f.Create())
	calls := f.Cloud.Calls()
	first := getters(f.provider)
	for range harness.Rounds {
		for i, again := range getters(f.provider) {
			if again.ok != first[i].ok || !same(again.value, first[i].value) {
				f.T.Errorf("%s changed from %T, %t to %T, %t", again.name, first[i].value, first[i].ok, again.value, again.ok)
			}
		}
	}
	for _, g := range first {
		if (g.value != nil) != g.ok {
			f.T.Errorf("%s returns %T, %t", g.name, g.value, g.ok)
		}
	}
	if got := f.Cloud.Calls() - calls; got != 0 {
		f.T.Errorf("getters cost %d calls", got)
	}
}

// closer is a provider that can end its sessions.
type closer interface {
	Close(ctx context.Context) error
}

// sessions connects the provider and returns its Close and the list of sessions,
// of which one is open.
func (f *fixture) sessions() (closer, conformance.SessionCounter) {
	f.T.Helper()
	f.connect()
	counter, ok := f.Cloud.(conformance.SessionCounter)
	if !ok {
		f.T.Fatal("the test cloud must be a conformance.SessionCounter, or declare Without.Sessions")
	}
	end, ok := f.provider.(closer)
	if !ok {
		f.T.Fatal("the provider has sessions but no Close(context.Context) error")
	}
	f.initialize(f.Create())
	if counter.Sessions() == 0 {
		f.T.Fatal("the test cloud lists no session of a working provider")
	}

	return end, counter
}

// closeEndsSessions: sessions left behind accumulate in the cloud.
func closeEndsSessions(f *fixture) {
	end, counter := f.sessions()
	node := harness.NewNode(f.Create().Ref)
	none := func() error {
		if n := counter.Sessions(); n != 0 {
			return fmt.Errorf("%d sessions are open", n)
		}

		return nil
	}
	for range 2 { // the second has nothing left to do
		if err := end.Close(f.T.Context()); err != nil {
			f.T.Errorf("Close: %v", err)
		}
		f.Eventually("sessions end after Close", none)
	}
	f.Always(func() {
		if f.query(node)[0].gone() {
			f.T.Error("a closed provider reports a node gone")
		}
		if err := none(); err != nil {
			f.T.Errorf("after Close and more queries: %v", err)
		}
	})
}

// closeReturns: the process must end in time when it is stopped.
func closeReturns(f *fixture) {
	end, _ := f.sessions()
	f.InjectFailure(conformance.Hanging)
	ctx, cancel := context.WithTimeout(f.T.Context(), f.CancelLimit())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = end.Close(ctx) // it cannot succeed, but must end
	}()
	select {
	case <-done:
	case <-time.After(f.CallLimit()):
		f.T.Errorf("Close did not return at its deadline of %s", f.CancelLimit())
	}
}
