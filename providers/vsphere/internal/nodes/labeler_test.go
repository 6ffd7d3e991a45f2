package nodes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// TestRefusedLabelsAreLoggedOnce (VS-NODE-11): without the permission to patch Nodes,
// there is one line in the log, not one for each Node every five minutes, and another one
// if it is lost again.
func TestRefusedLabelsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	client := kubetest.NewClientset()
	var writes atomic.Int32
	client.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.PatchAction).GetName()
		switch writes.Add(1); name {
		case "node-0":
			return true, nil, apierrors.NewInternalError(errors.New("broken"))
		case "granted":
			return true, kubetest.Node(name), nil
		}

		return true, nil, apierrors.NewForbidden(v1.Resource("nodes"), name, nil)
	})
	var out bytes.Buffer
	ctx, stop := context.WithCancel(klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out)))))
	l := newLabeler()
	var running sync.WaitGroup
	running.Go(func() { l.run(ctx, client.CoreV1().Nodes()) })
	for i := range 10 {
		l.want(kubetest.Node(fmt.Sprintf("node-%d", i)), "vcenter")
	}
	for _, name := range []string{"granted", "node-10", "node-11"} {
		l.want(kubetest.Node(name), "vcenter")
	}
	for deadline := time.Now().Add(5 * time.Minute); writes.Load() < 13 || l.queue.Len() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d writes", writes.Load())
		}
	}
	stop()
	running.Wait()
	if n := strings.Count(out.String(), "Labeling a Node failed"); n != 3 {
		t.Errorf("%d lines, want one for each kind of failure, and one after the success:\n%s", n, out.String())
	}
}
