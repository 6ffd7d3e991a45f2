package loadbalancers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/tlsfiles"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/loadbalancers"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

const (
	testCluster = "east"
	// whole is a time after which nothing changes any more: the search shows everything.
	whole = 10 * time.Minute
	// takeover is how long the next leader waits.
	takeover = 15 * time.Second
)

// process is a process that serves Services, one after the other, at a simulated manager.
type process struct {
	*testing.T
	*vspheretest.Manager
	*loadbalancers.LoadBalancers

	settings request.Config
	client   *nsx.Client
	kube     kubernetes.Interface // that of the last sweep
	ctx      context.Context      //nolint:containedctx // that of the process
	kill     context.CancelFunc
}

// inProcess runs a test in simulated time. The LBService is that of the cluster.
func inProcess(t *testing.T, spec nsxt.Spec, test func(*process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		spec.Pools = append(spec.Pools, nsxt.Pool{ID: "pool", Ranges: []string{"203.0.113.10-203.0.113.250", "198.18.0.1-198.18.1.254"}},
			nsxt.Pool{ID: "pool6", Ranges: []string{"2001:db8::10-2001:db8::ff"}})
		p := &process{T: t, Manager: vspheretest.StartManager(t, spec), settings: request.Config{
			Tier1: vspheretest.Tier1, Size: "LARGE", Classes: map[string]request.Class{request.DefaultClass: {
				Name: request.DefaultClass, IPPool: request.Ref{ID: "pool"}, IPPoolIPv6: request.Ref{ID: "pool6"},
				TCP: request.Ref{Name: "default-tcp-lb-app-profile"}, UDP: request.Ref{Name: "default-udp-lb-app-profile"},
			}},
		}}
		p.start()
		defer p.end()
		test(p)
	})
}

// start begins another process.
func (p *process) start() {
	p.Helper()
	p.client = newClient(p.T, p.Manager)
	p.LoadBalancers = loadbalancers.New(loadbalancers.Config{Settings: p.settings}, p.client)
	p.ctx, p.kill = context.WithCancel(p.Context())
}

// newClient returns a client of a manager.
func newClient(t *testing.T, manager *vspheretest.Manager) *nsx.Client {
	t.Helper()
	password := &nsx.Password{Host: "nsx", Guard: login.NewGuard(nsx.LoginLimits(), clock.RealClock{})}
	password.Use(credential.NewInFile(nsx.Credentials{User: "admin", Password: "secret"}, nil))
	client, err := nsx.New(nsx.Config{Host: manager.Host(), TLS: tlsfiles.Files{CAPEM: string(manager.CertificatePEM())}, Auth: password}, nsx.Options{Dial: manager.Dial})
	if err != nil {
		t.Fatal(err)
	}

	return client
}

// end ends the process.
func (p *process) end() {
	p.Helper()
	p.kill()
	if err := p.client.Close(p.Context()); err != nil {
		p.Error(err)
	}
}

// restart ends the process, and begins the next one when it may lead.
func (p *process) restart() {
	p.Helper()
	p.end()
	time.Sleep(takeover)
	p.start()
}

// retry makes a call as the service controller does, until it succeeds or the process ends.
func (p *process) retry(call func() error) error {
	for range 20 {
		err := call()
		if err == nil || p.ctx.Err() != nil {
			return err
		}
		after := 5 * time.Second
		if later, ok := errors.AsType[*api.RetryError](err); ok {
			after = later.RetryAfter()
		}
		time.Sleep(after)
	}

	return call()
}

// ensure ensures a load balancer and writes the status of its Service.
func (p *process) ensure(svc *v1.Service, nodes ...*v1.Node) error {
	return p.retry(func() error {
		status, err := p.EnsureLoadBalancer(p.ctx, testCluster, svc, nodes)
		if err == nil {
			svc.Status.LoadBalancer = *status
		}

		return err
	})
}

// remove deletes a load balancer, if there is one.
func (p *process) remove(svc *v1.Service) error {
	return p.retry(func() error {
		_, exists, err := p.GetLoadBalancer(p.ctx, testCluster, svc)
		if err != nil || !exists {
			return err
		}

		return p.EnsureLoadBalancerDeleted(p.ctx, testCluster, svc)
	})
}

func (p *process) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// check compares what clients have created with what is wanted.
func (p *process) check(what string, want []string) {
	p.Helper()
	if diff := cmp.Diff(want, p.Resources()); diff != "" {
		p.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// workers returns Nodes with an address of each family.
func workers(n int) []*v1.Node {
	var nodes []*v1.Node
	for i := range n {
		nodes = append(nodes, kubetest.Node(fmt.Sprintf("node-%d", i+1), kubetest.Address(v1.NodeInternalIP, fmt.Sprintf("10.0.%d.%d", (i+1)/256, (i+1)%256)),
			kubetest.Address(v1.NodeInternalIP, fmt.Sprintf("fd00::%x", i+1))))
	}

	return nodes
}

// web returns a Service with the ports 80 and 443.
func web() *v1.Service {
	return kubetest.Service("default", "web", kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443))
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// settle waits until nothing changes any more.
func (p *process) settle() { time.Sleep(whole) }
