package conformance

import (
	"context"
	"fmt"
	"reflect"
	"time"

	cloudprovider "k8s.io/cloud-provider"
)

// interfaceCases are about the provider as an object.
func interfaceCases() []nodeCase {
	noSessions := func(without Capabilities) bool { return without.Sessions }

	return []nodeCase{
		{name: "the provider tells its name", run: tellsItsName},
		{name: "a cluster ID is there", run: hasClusterID},
		{name: "only InstancesV2 is offered for nodes", run: offersInstancesV2Only},
		{name: "getters are constant and cost nothing", run: constantGetters},
		{name: "Close ends the sessions for good", leftOut: noSessions, run: closeEndsSessions},
		{name: "Close of a hanging cloud returns", leftOut: noSessions, run: closeReturns},
	}
}

func tellsItsName(b *fixture) {
	b.connect()
	if got := b.provider.ProviderName(); got != b.suite.Provider {
		b.t.Errorf("ProviderName is %q, want %q", got, b.suite.Provider)
	}
}

func hasClusterID(b *fixture) {
	b.connect()
	if !b.provider.HasClusterID() {
		b.t.Error("HasClusterID is false: the binary would not start")
	}
}

// offersInstancesV2Only: the older interfaces would be asked by name, and mix
// up nodes of several clouds.
func offersInstancesV2Only(b *fixture) {
	b.connect()
	if _, ok := b.provider.Instances(); ok {
		b.t.Error("Instances is offered")
	}
	if _, ok := b.provider.Zones(); ok {
		b.t.Error("Zones is offered")
	}
	if _, ok := b.provider.Clusters(); ok {
		b.t.Error("Clusters is offered")
	}
}

// getter is what one of the provider's getters gave.
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

// same says that two answers of a getter are one thing.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}

	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && a == b
}

// constantGetters: the framework calls them for every node.
func constantGetters(b *fixture) {
	b.connect()
	b.initialize(b.create())
	calls := b.cloud.Calls()
	first := getters(b.provider)
	for range rounds {
		for i, again := range getters(b.provider) {
			if again.ok != first[i].ok || !same(again.value, first[i].value) {
				b.t.Errorf("%s changed from %T, %t to %T, %t", again.name, first[i].value, first[i].ok, again.value, again.ok)
			}
		}
	}
	for _, g := range first {
		if (g.value != nil) != g.ok {
			b.t.Errorf("%s gives %T, %t", g.name, g.value, g.ok)
		}
	}
	if got := b.cloud.Calls() - calls; got != 0 {
		b.t.Errorf("getters cost %d calls", got)
	}
}

// closer is a provider that can end its sessions.
type closer interface {
	Close(ctx context.Context) error
}

// sessions gives the provider's Close and the cloud's list, connected and with
// a session open.
func (b *fixture) sessions() (closer, SessionCounter) {
	b.t.Helper()
	b.connect()
	counter, ok := b.cloud.(SessionCounter)
	if !ok {
		b.t.Fatal("the test cloud must be a SessionCounter, or declare Without.Sessions")
	}
	end, ok := b.provider.(closer)
	if !ok {
		b.t.Fatal("the provider has sessions but no Close(context.Context) error")
	}
	b.initialize(b.create())
	if counter.Sessions() == 0 {
		b.t.Fatal("the test cloud lists no session of a working provider")
	}

	return end, counter
}

// closeEndsSessions: sessions left behind pile up in the cloud.
func closeEndsSessions(b *fixture) {
	end, counter := b.sessions()
	node := newNode(b.create().Ref)
	none := func() error {
		if n := counter.Sessions(); n != 0 {
			return fmt.Errorf("%d sessions are open", n)
		}

		return nil
	}
	for range 2 { // the second has nothing left to do
		if err := end.Close(b.t.Context()); err != nil {
			b.t.Errorf("Close: %v", err)
		}
		b.eventually("sessions end after Close", none)
	}
	b.always(func() {
		if b.ask(node)[0].gone() {
			b.t.Error("a closed provider reports a node gone")
		}
		if err := none(); err != nil {
			b.t.Errorf("after Close and more questions: %v", err)
		}
	})
}

// closeReturns: the process ends when its manager says so.
func closeReturns(b *fixture) {
	end, _ := b.sessions()
	b.breakCloud(Hanging)
	ctx, cancel := context.WithTimeout(b.t.Context(), b.cancelBound())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = end.Close(ctx) // it cannot succeed, but must end
	}()
	select {
	case <-done:
	case <-time.After(b.answerBound()):
		b.t.Errorf("Close did not return at its deadline of %s", b.cancelBound())
	}
}
