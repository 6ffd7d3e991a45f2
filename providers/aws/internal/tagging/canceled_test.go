package tagging

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestFirstCallerGivesUp: the first caller of a batch cancels at once
// when its context ends, and the others of the batch are tagged nevertheless.
func TestFirstCallerGivesUp(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	w := newWriter(b.controller.config.EC2, Options{Tags: map[string]string{"k": "v"}, Batching: true}, batch.Options{Window: time.Hour, MaxSize: 2})
	hold := simserver.NewHold()
	b.cloud.Interceptor().Inject("CreateTags", simserver.First(1), hold.Before)
	first := b.cloud.AddInstance(aws.InstanceSpec{InterfaceSpec: aws.InterfaceSpec{Subnet: b.subnet}})
	second := b.cloud.AddInstance(aws.InstanceSpec{InterfaceSpec: aws.InterfaceSpec{Subnet: b.subnet}})

	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	gone := make(chan error, 1)
	all.Go(func() { gone <- w.tag(ctx, first) })
	all.Go(func() {
		if err := w.tag(t.Context(), second); err != nil {
			t.Errorf("AWS-TAG-6: the second fails with the first: %v", err)
		}
	})
	if err := b.cloud.Interceptor().WaitFor(t.Context(), "CreateTags", 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) { // while the call still hangs
		t.Errorf("AWS-TAG-6: the first that gave up has %v", err)
	}
	hold.Release()
	all.Wait()
	if b.cloud.Tags(second)["k"] != "v" {
		t.Errorf("AWS-TAG-6: the second has the tags %v", b.cloud.Tags(second))
	}
}
