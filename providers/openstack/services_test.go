//go:build openstackservices

package openstack

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// servicesCluster is a cluster on three servers of the real services.
type servicesCluster struct {
	*realServices

	kube  *kubetest.Clientset
	cloud *cloud
	nodes []*v1.Node
}

// connectToServices starts the provider, with more keys of [LoadBalancer].
func connectToServices(t *testing.T, more string) *servicesCluster {
	t.Helper()
	c := &servicesCluster{realServices: startServices(t), kube: kubetest.NewClientset()}
	found := c.servers()
	if len(found) < 3 {
		t.Fatalf("there are %d servers node-*, want 3", len(found))
	}
	for _, server := range found[:3] {
		node := nodeOf(&server)
		c.nodes = append(c.nodes, node)
		if _, err := c.kube.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	text := c.global + "[LoadBalancer]\nfloating-network-id = " + c.Config.LoadBalancer.FloatingNetworkID + "\n" + more
	c.cloud = connectTo(t, c.kube, noEnvironment(), text, c.times())

	return c
}

// until repeats a call as the service controller does, and returns how long it took.
func (s *servicesCluster) until(what string, call func(ctx context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), servicesTimeout)
	defer cancel()
	began := time.Now()
	for {
		err := call(ctx)
		if err == nil {
			s.t.Logf("%s: %s", what, time.Since(began).Round(10*time.Millisecond))

			return
		}
		s.t.Logf("%s: %v", what, err)
		wait := 5 * time.Second
		if retry, ok := errors.AsType[*api.RetryError](err); ok {
			wait = retry.RetryAfter()
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			s.t.Fatalf("%s: %v", what, err)
		}
	}
}

func (s *servicesCluster) stored(ctx context.Context, name string) *v1.Service {
	s.t.Helper()
	service, err := s.kube.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{})
	must(s.t, err)

	return service
}

func (s *servicesCluster) create(service *v1.Service) {
	s.t.Helper()
	if _, err := s.kube.CoreV1().Services("default").Create(s.t.Context(), service, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *servicesCluster) ensure(what, name string, nodes []*v1.Node, changes ...func(*v1.Service)) *v1.LoadBalancerStatus {
	s.t.Helper()
	if len(changes) > 0 {
		service := s.stored(s.t.Context(), name)
		for _, change := range changes {
			change(service)
		}
		if _, err := s.kube.CoreV1().Services("default").Update(s.t.Context(), service, metav1.UpdateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
	var status *v1.LoadBalancerStatus
	s.until(what, func(ctx context.Context) error {
		var err error
		status, err = s.cloud.loadBalancer.EnsureLoadBalancer(ctx, clusterName, s.stored(ctx, name), nodes)

		return err
	})
	if len(status.Ingress) == 0 {
		s.t.Errorf("%s: no address", what)
	}

	return status
}

func (s *servicesCluster) remove(name string) {
	s.t.Helper()
	s.until("delete "+name, func(ctx context.Context) error {
		return s.cloud.loadBalancer.EnsureLoadBalancerDeleted(ctx, clusterName, s.stored(ctx, name))
	})
}

// wantGone checks that a Service has no load balancer.
func (s *servicesCluster) wantGone(name string) {
	s.t.Helper()
	if _, exists, err := s.cloud.loadBalancer.GetLoadBalancer(s.t.Context(), clusterName, s.stored(s.t.Context(), name)); exists || err != nil {
		s.t.Errorf("%s exists after it was deleted: %v, %v", name, exists, err)
	}
}

// cleanUp deletes what a test that failed has left.
func (s *servicesCluster) cleanUp(names ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), servicesTimeout)
	defer cancel()
	for _, name := range names {
		if service, err := s.kube.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{}); err == nil {
			_ = s.cloud.loadBalancer.EnsureLoadBalancerDeleted(ctx, clusterName, service)
		}
	}
}

// TestServices runs the life of Services on real OpenStack services: "make e2e-openstack".
func TestServices(t *testing.T) {
	for name, more := range map[string]string{
		"plain":   "create-monitor = true\n",
		"managed": "manage-security-groups = true\n",
		"serial":  "provider-requires-serial-api-calls = true\ncascade-delete = false\n",
	} {
		t.Run(name, func(t *testing.T) { testServices(t, name, more) })
	}
}

func testServices(t *testing.T, name, more string) {
	t.Helper()
	s := connectToServices(t, more)
	web, shop := "web-"+name, "shop-"+name
	s.create(kubetest.Service("default", web, kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443), kubetest.Port(v1.ProtocolUDP, 443)))
	t.Cleanup(func() { s.cleanUp(shop, web) })
	status := s.ensure("create", web, s.nodes[:2])
	again := s.ensure("second sync", web, s.nodes[:2])
	if status.Ingress[0].IP != again.Ingress[0].IP {
		t.Errorf("the address is %v and then %v", status, again)
	}
	s.until("update to 3 nodes", func(ctx context.Context) error {
		return s.cloud.loadBalancer.UpdateLoadBalancer(ctx, clusterName, s.stored(ctx, web), s.nodes)
	})
	s.until("update to 1 node", func(ctx context.Context) error {
		return s.cloud.loadBalancer.UpdateLoadBalancer(ctx, clusterName, s.stored(ctx, web), s.nodes[:1])
	})
	s.ensure("affinity and ranges", web, s.nodes, func(svc *v1.Service) {
		svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
		svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "192.168.0.0/16"}
	})
	s.ensure("PROXY protocol", web, s.nodes, annotated(request.AnnotationProxyProtocol, "v2"))
	s.ensure("X-Forwarded-For", web, s.nodes, annotated(request.AnnotationProxyProtocol, "false"), annotated(request.AnnotationXForwardedFor, "true"))
	s.ensure("a port less, another one", web, s.nodes, func(svc *v1.Service) { svc.Spec.Ports[1].Port = 8443 })
	shared := kubetest.Service("default", shop, kubetest.Port(v1.ProtocolTCP, 8080))
	annotated(request.AnnotationLoadBalancerID, s.stored(t.Context(), web).Annotations[string(request.AnnotationLoadBalancerID)])(shared)
	s.create(shared)
	s.ensure("share", shop, s.nodes)
	s.ensure("internal", web, s.nodes, annotated(request.AnnotationInternal, "true"))
	s.ensure("external again", web, s.nodes, annotated(request.AnnotationInternal, "false"))
	s.remove(web)
	s.wantGone(web)
	s.ensure("the other one is there", shop, s.nodes)
	s.remove(shop)
	s.wantGone(shop)
	left, err := s.cloud.client.LoadBalancer().ListLoadBalancers(t.Context(), client.LoadBalancerQuery{})
	for _, lb := range left {
		if strings.HasSuffix(lb.Name, "-"+name) {
			t.Errorf("left: %s %s", lb.Name, lb.Provisioning)
		}
	}
	fips, fipsErr := s.cloud.client.Network().ListFloatingIPs(t.Context())
	for _, fip := range fips {
		if strings.Contains(fip.Description, web) || strings.Contains(fip.Description, shop) {
			t.Errorf("left: %s", fip.Description)
		}
	}
	groups, groupsErr := s.cloud.client.Network().ListSecurityGroups(t.Context())
	for _, group := range groups {
		if strings.HasPrefix(group.Name, "lb-sg-") && strings.HasSuffix(group.Name, "-"+name) {
			t.Errorf("left: %s", group.Name)
		}
	}
	must(t, errors.Join(err, fipsErr, groupsErr))
}
