package instance_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// TestSlowCloud (FW-NODE-10): a Node is initialized by a cloud that needs longer for each lookup
// than the first attempt for a Node waits.
func TestSlowCloud(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource(found(instance.Running), found(instance.Running))
		s.lookup = func(ctx context.Context, _ instance.Ref) instance.Result {
			select {
			case <-time.After(25 * time.Second):
				return found(instance.Running)
			case <-ctx.Done():
				return instance.Failed(ctx.Err())
			}
		}
		v2 := instance.New(s, instance.Options{Provider: provider})
		queued := make(chan string, 1)
		v2.SetRequeue(func(name string) { queued <- name })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			v2.Run(ctx)
		}()
		node := newNode(ownID)
		node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
		began := time.Now()
		if _, err := v2.InstanceMetadata(ctx, node); err == nil {
			t.Error("a cloud that takes 25 s was waited for")
		}
		select {
		case <-queued:
		case <-time.After(5 * time.Minute):
			t.Error("the Node is never queued again")
		}
		// Attempts of 8 s, 16 s and 30 s, each at the next tick after the one before.
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %v", took)
		}
		if _, err := v2.InstanceMetadata(ctx, node); err != nil {
			t.Error(err)
		}
		stop()
		<-ended
	})
}
