package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	cloudprovider "k8s.io/cloud-provider"
	ccmconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/drain"
)

// handover ends the writes of this process to the Kubernetes API and releases its
// Leases, so that another process can lead at once.
type handover struct {
	// writes are those of the controllers, the provider and leader election, but not
	// those of Events of the framework, which change nothing else.
	writes drain.Writes
	leases *leases
	// settle is how long after a write to the cloud a Lease is not released: it would
	// have expired by then if the process had been killed.
	settle time.Duration
}

// newHandover takes effect for the clients that are made of the config afterwards. It
// must be called before leader election and the controllers start.
func newHandover(completed *ccmconfig.CompletedConfig) (*handover, error) {
	leases, err := newLeases(completed.Kubeconfig, completed.ComponentConfig.Generic)
	if err != nil {
		return nil, err
	}
	h := &handover{leases: leases, settle: completed.ComponentConfig.Generic.LeaderElection.LeaseDuration.Duration}
	completed.Kubeconfig.Wrap(h.writes.Wrap)
	completed.Kubeconfig.Wrap(leases.observe)
	limited := limitEvents()
	completed.Kubeconfig.Wrap(limited)
	if completed.ComponentConfig.KubeCloudShared.UseServiceAccountCredentials {
		// The clients of accounts are not made of the config.
		completed.ClientBuilder = wrappedBuilder{completed.ClientBuilder, transport.Wrappers(h.writes.Wrap, limited)}
	}

	return h, nil
}

// drainWrites rejects writes from now on and waits for those under way.
func (h *handover) drainWrites(ctx context.Context) error {
	if err := h.writes.Close(ctx); err != nil {
		return fmt.Errorf("end writing to the Kubernetes API: %w", err)
	}

	return nil
}

// wrappedBuilder makes clients whose transport is wrapped.
type wrappedBuilder struct {
	builder cloudprovider.ControllerClientBuilder
	wrap    transport.WrapperFunc
}

// Config implements cloudprovider.ControllerClientBuilder.
func (b wrappedBuilder) Config(name string) (*rest.Config, error) {
	config, err := b.builder.Config(name)
	if err == nil {
		config.Wrap(b.wrap)
	}

	return config, err
}

// ConfigOrDie implements cloudprovider.ControllerClientBuilder.
func (b wrappedBuilder) ConfigOrDie(name string) *rest.Config {
	config, err := b.Config(name)
	if err != nil {
		klog.ErrorS(err, "No configuration of a client", "account", name)
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}

	return config
}

// Client implements cloudprovider.ControllerClientBuilder.
func (b wrappedBuilder) Client(name string) (kubernetes.Interface, error) {
	config, err := b.Config(name)
	if err != nil {
		return nil, err
	}

	return kubernetes.NewForConfig(config)
}

// ClientOrDie implements cloudprovider.ControllerClientBuilder.
func (b wrappedBuilder) ClientOrDie(name string) kubernetes.Interface {
	client, err := b.Client(name)
	if err != nil {
		klog.ErrorS(err, "No client", "account", name)
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}

	return client
}
