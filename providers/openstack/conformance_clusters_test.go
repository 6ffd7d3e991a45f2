package openstack

import (
	"context"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// clusterSet is the Kubernetes APIs of clusters that share their machines. It is made by
// newClusterSet and is safe for concurrent use.
type clusterSet struct {
	mu       sync.Mutex
	clusters map[string]kubernetes.Interface
	nodes    []*v1.Node // of all clusters
}

func newClusterSet() *clusterSet { return &clusterSet{clusters: map[string]kubernetes.Interface{}} }

// cluster returns the Kubernetes API of a cluster, with the Nodes that there are.
func (c *clusterSet) cluster(name string) kubernetes.Interface {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clusters[name] == nil {
		c.clusters[name] = kubetest.NewClientset()
		for _, node := range c.nodes {
			c.addNode(name, node)
		}
	}

	return c.clusters[name]
}

func (c *clusterSet) addNode(cluster string, node *v1.Node) {
	if _, err := c.clusters[cluster].CoreV1().Nodes().Create(context.Background(), node.DeepCopy(), metav1.CreateOptions{}); err != nil {
		panic(err)
	}
}

// add adds the Node of a machine to all clusters.
func (c *clusterSet) add(ref instance.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	node := kubetest.Node(ref.NodeName, kubetest.ProviderID(ref.ProviderID), old)
	c.nodes = append(c.nodes, node)
	for name := range c.clusters {
		c.addNode(name, node)
	}
}

// Store implements loadbalancers.ServiceStore.
func (c *clusterSet) Store(t testing.TB, cluster string, service *v1.Service) *v1.Service {
	t.Helper()
	services := c.cluster(cluster).CoreV1().Services(service.Namespace)
	stored, err := services.Get(t.Context(), service.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		stored, err = services.Create(t.Context(), service.DeepCopy(), metav1.CreateOptions{})
	case err == nil && stored.UID != service.UID:
		if err = services.Delete(t.Context(), service.Name, metav1.DeleteOptions{}); err == nil {
			stored, err = services.Create(t.Context(), service.DeepCopy(), metav1.CreateOptions{})
		}
	case err == nil:
		stored, err = services.Update(t.Context(), merged(service, stored), metav1.UpdateOptions{})
	}
	must(t, err)

	return stored
}

// merged returns a Service with what the provider wrote into the stored one.
func merged(service, stored *v1.Service) *v1.Service {
	service = service.DeepCopy()
	for _, name := range []string{string(request.AnnotationLoadBalancerID), string(request.AnnotationLoadBalancerAddress)} {
		if value, ok := stored.Annotations[name]; ok {
			service.Annotations[name] = value
		}
	}

	return service
}
