package main

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	controllermanager "k8s.io/controller-manager/app"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// nodeCloud is a cloud that does not initialize its Nodes.
type nodeCloud struct {
	fakeCloud

	queried chan string
	requeue func(nodeName string)
}

var _ provider.NodeRequeuer = (*nodeCloud)(nil)

func (c *nodeCloud) Instances() (cloudprovider.Instances, bool) { return nil, false }
func (c *nodeCloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return nodeInstances{nil, c.queried}, true
}
func (c *nodeCloud) SetNodeRequeue(requeue func(nodeName string)) { c.requeue = requeue }

// nodeInstances reports each Node that is queried.
type nodeInstances struct {
	cloudprovider.InstancesV2

	queried chan<- string
}

func (n nodeInstances) InstanceMetadata(_ context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	n.queried <- node.Name

	return nil, nil // the Node is not initialized
}

// clients returns the same client for every controller.
type clients struct {
	cloudprovider.ControllerClientBuilder

	client kubernetes.Interface
}

func (c clients) ClientOrDie(string) kubernetes.Interface { return c.client }

// TestNodeControllerRequeues: the controller that is started for Nodes passes
// the provider a function that queues a Node.
func TestNodeControllerRequeues(t *testing.T) {
	t.Parallel()
	client := kubetest.NewClientset(kubetest.Node("one", kubetest.Tainted()))
	config := ccmconfig.Config{
		LoopbackClientConfig: &restclient.Config{},
		ClientBuilder:        clients{client: client},
		SharedInformers:      informers.NewSharedInformerFactory(client, 0),
	}
	config.ComponentConfig.NodeStatusUpdateFrequency.Duration = time.Hour
	config.ComponentConfig.NodeController.ConcurrentNodeSyncs = 1
	config.ComponentConfig.NodeController.ConcurrentNodeStatusUpdates = 1
	cloud := &nodeCloud{queried: make(chan string, 100)}

	constructor := controllers(nil)[names.CloudNodeController]
	start := constructor.Constructor(constructor.InitContext, config.Complete(), cloud)
	_, started, err := start(t.Context(), controllermanager.ControllerContext{
		ControllerManagerMetrics: controllersmetrics.NewControllerManagerMetrics("test"),
	})
	if !started || err != nil {
		t.Fatalf("started %t, %v", started, err)
	}
	config.SharedInformers.Start(t.Context().Done())
	await := func(what string) {
		t.Helper()
		select {
		case <-cloud.queried:
		case <-time.After(5 * time.Minute):
			t.Fatalf("%s: the Node is not handled", what)
		}
	}
	await("at the start")
	cloud.requeue("one")
	await("queued again")
	cloud.requeue("missing")
}

// noInstances is a cloud without Nodes.
type noInstances struct{ fakeCloud }

func (*noInstances) Instances() (cloudprovider.Instances, bool)     { return nil, false }
func (*noInstances) InstancesV2() (cloudprovider.InstancesV2, bool) { return nil, false }

// TestNodeControllerFailsToStart: the framework gets the error, which ends the
// process.
func TestNodeControllerFailsToStart(t *testing.T) {
	t.Parallel()
	client := kubetest.NewClientset()
	config := ccmconfig.Config{
		LoopbackClientConfig: &restclient.Config{},
		ClientBuilder:        clients{client: client},
		SharedInformers:      informers.NewSharedInformerFactory(client, 0),
	}
	constructor := controllers(nil)[names.CloudNodeController]
	start := constructor.Constructor(constructor.InitContext, config.Complete(), &noInstances{})
	_, started, err := start(t.Context(), controllermanager.ControllerContext{})
	if started {
		t.Error("the controller started")
	}
	wantError(t, "does not support instances", err)
}
