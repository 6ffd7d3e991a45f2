package instance_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// TestOneSlowLookup: a lookup that takes longer than a caller waits makes other
// Nodes wait less only until the cloud has responded. A cloud that takes a second
// for each later Node responds.
func TestOneSlowLookup(t *testing.T) {
	t.Parallel()
	for name, period := range map[string]time.Duration{"soon": 7 * time.Second, "now and then": 20 * time.Second, "many at a time": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var takes atomic.Int64
				takes.Store(int64(6 * time.Second))
				s := newSource(found(instance.Running), found(instance.Running))
				s.lookup = func(context.Context, instance.Ref) instance.Result {
					time.Sleep(time.Duration(takes.Load()))

					return found(instance.Running)
				}
				v2 := instance.New(s, instance.Options{Provider: provider})
				v2.SetRequeue(func(string) {})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					v2.Run(ctx)
				}()
				synctest.Wait()
				join := func(i int) error {
					node := newNode(ownID)
					node.Name, node.UID = fmt.Sprintf("node-%d", i), types.UID(fmt.Sprintf("uid-%d", i))
					node.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
					_, err := v2.InstanceMetadata(ctx, node)

					return err
				}
				if join(0) == nil {
					t.Error("the first lookup was waited for")
				}
				time.Sleep(2 * time.Second)
				takes.Store(int64(time.Second))
				for i := range 60 {
					if err := join(i + 1); err != nil {
						t.Errorf("node %d: %v", i+1, err)
					}
					time.Sleep(period - time.Second)
				}
				stop()
				<-ended
			})
		})
	}
}
