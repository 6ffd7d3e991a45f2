//go:build openstackservices

package openstack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// servicesTimeout bounds each operation on a real load balancer.
const servicesTimeout = 3 * time.Minute

// realServices is a cluster of the servers of a project in real OpenStack services.
type realServices struct {
	t     *testing.T
	kube  *kubetest.Clientset
	cloud *cloud
	nodes []*v1.Node
}

// connectToServices starts the provider with the cloud-config of OPENSTACK_DIR. Its servers
// are the Nodes of the cluster.
func connectToServices(t *testing.T, more string) *realServices {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(os.Getenv("OPENSTACK_DIR"), "cloud.conf"))
	if err != nil {
		t.Fatalf("OPENSTACK_DIR must have the cloud.conf of a project with servers: %v", err)
	}
	kept, section, _ := strings.Cut(string(text), "[LoadBalancer]")
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "floating-network-id") {
			more = line + more
		}
	}
	file, err := config.Parse("cloud.conf", []byte(kept+"[LoadBalancer]\n"+more))
	if err != nil {
		t.Fatal(err)
	}
	probe, err := newCloudFrom(file, noEnvironment(), tuning{})
	if err != nil {
		t.Fatal(err)
	}
	servers, err := probe.client.Compute().ListServers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = probe.Close(context.WithoutCancel(t.Context()))
	s := &realServices{t: t, kube: kubetest.NewClientset()}
	for _, server := range servers {
		if !strings.HasPrefix(server.Name, "node-") {
			continue
		}
		node := kubetest.Node(server.Name, kubetest.ProviderID("openstack:///"+server.ID), old)
		for _, addresses := range server.Addresses {
			for _, a := range addresses {
				if a.Type == "fixed" && !strings.Contains(a.Address, ":") {
					kubetest.Address(v1.NodeInternalIP, a.Address)(node)
				}
			}
		}
		s.nodes = append(s.nodes, node)
		if _, err := s.kube.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.nodes) < 3 {
		t.Fatalf("there are %d servers node-*, want 3", len(s.nodes))
	}
	s.cloud = connectTo(t, s.kube, noEnvironment(), kept+"[LoadBalancer]\n"+more, tuning{})

	return s
}

// until repeats a call as the service controller does, and returns how long it took.
func (s *realServices) until(what string, call func(ctx context.Context) error) {
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

func (s *realServices) stored(name string) *v1.Service {
	s.t.Helper()
	service, err := s.kube.CoreV1().Services("default").Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}

	return service
}

func (s *realServices) create(service *v1.Service) {
	s.t.Helper()
	if _, err := s.kube.CoreV1().Services("default").Create(s.t.Context(), service, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *realServices) ensure(what, name string, nodes []*v1.Node, changes ...func(*v1.Service)) *v1.LoadBalancerStatus {
	s.t.Helper()
	if len(changes) > 0 {
		service := s.stored(name)
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
		status, err = s.cloud.loadBalancer.EnsureLoadBalancer(ctx, clusterName, s.stored(name), nodes)

		return err
	})
	if len(status.Ingress) == 0 {
		s.t.Errorf("%s: no address", what)
	}

	return status
}

func (s *realServices) remove(name string) {
	s.t.Helper()
	s.until("delete "+name, func(ctx context.Context) error {
		return s.cloud.loadBalancer.EnsureLoadBalancerDeleted(ctx, clusterName, s.stored(name))
	})
	if _, exists, err := s.cloud.loadBalancer.GetLoadBalancer(s.t.Context(), clusterName, s.stored(name)); exists || err != nil {
		s.t.Errorf("%s exists after it was deleted: %v, %v", name, exists, err)
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
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), servicesTimeout)
		defer cancel()
		for _, left := range []string{shop, web} {
			if service, err := s.kube.CoreV1().Services("default").Get(ctx, left, metav1.GetOptions{}); err == nil {
				_ = s.cloud.loadBalancer.EnsureLoadBalancerDeleted(ctx, clusterName, service)
			}
		}
	})
	status := s.ensure("create", web, s.nodes[:2])
	again := s.ensure("second sync", web, s.nodes[:2])
	if status.Ingress[0].IP != again.Ingress[0].IP {
		t.Errorf("the address is %v and then %v", status, again)
	}
	s.until("update to 3 nodes", func(ctx context.Context) error {
		return s.cloud.loadBalancer.UpdateLoadBalancer(ctx, clusterName, s.stored(web), s.nodes)
	})
	s.until("update to 1 node", func(ctx context.Context) error {
		return s.cloud.loadBalancer.UpdateLoadBalancer(ctx, clusterName, s.stored(web), s.nodes[:1])
	})
	s.ensure("affinity and ranges", web, s.nodes, func(svc *v1.Service) {
		svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP
		svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "192.168.0.0/16"}
	})
	s.ensure("PROXY protocol", web, s.nodes, annotated(request.AnnotationProxyProtocol, "v2"))
	s.ensure("X-Forwarded-For", web, s.nodes, annotated(request.AnnotationProxyProtocol, "false"), annotated(request.AnnotationXForwardedFor, "true"))
	s.ensure("a port less, another one", web, s.nodes, func(svc *v1.Service) { svc.Spec.Ports[1].Port = 8443 })
	shared := kubetest.Service("default", shop, kubetest.Port(v1.ProtocolTCP, 8080))
	annotated(request.AnnotationLoadBalancerID, s.stored(web).Annotations[string(request.AnnotationLoadBalancerID)])(shared)
	s.create(shared)
	s.ensure("share", shop, s.nodes)
	s.ensure("internal", web, s.nodes, annotated(request.AnnotationInternal, "true"))
	s.ensure("external again", web, s.nodes, annotated(request.AnnotationInternal, "false"))
	s.remove(web)
	s.ensure("the other one is there", shop, s.nodes)
	s.remove(shop)
	left, err := s.cloud.client.LoadBalancer().ListLoadBalancers(t.Context(), client.LoadBalancerQuery{})
	for _, lb := range left {
		if strings.HasSuffix(lb.Name, "-"+name) {
			t.Errorf("left: %s %s", lb.Name, lb.Provisioning)
		}
	}
	groups, groupsErr := s.cloud.client.Network().ListSecurityGroups(t.Context())
	for _, group := range groups {
		if strings.HasPrefix(group.Name, "lb-sg-") && strings.HasSuffix(group.Name, "-"+name) {
			t.Errorf("left: %s", group.Name)
		}
	}
	if err := errors.Join(err, groupsErr); err != nil {
		t.Error(err)
	}
}
