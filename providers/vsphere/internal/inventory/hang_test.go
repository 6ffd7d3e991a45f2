package inventory

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
)

// hangingClient makes calls that never return.
type hangingClient struct {
	soap, rest atomic.Int64
}

func (c *hangingClient) SOAP(ctx context.Context, _ func(context.Context, *vim25.Client) error) error {
	c.soap.Add(1)
	<-ctx.Done()

	return ctx.Err()
}

func (c *hangingClient) REST(ctx context.Context, _ func(context.Context, *rest.Client) error) error {
	c.rest.Add(1)
	<-ctx.Done()

	return ctx.Err()
}

// TestHangingVCenterIsTriedOften: with the default times, attempts that hang
// follow each other every 8 s for the change feed and every 9 s for tags. That is
// how soon the end of the hang is noticed.
func TestHangingVCenterIsTriedOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &hangingClient{}
		i := New(client, Config{ZoneCategory: "k8s-zone"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			i.Run(ctx)
		}()
		begun := time.Now()
		for time.Since(begun) < time.Hour {
			if _, _, err := i.Zones(ctx, &VM{}); err == nil {
				t.Fatal("a vCenter that hangs returned a zone")
			}
			time.Sleep(100 * time.Millisecond)
		}
		if got, want := client.soap.Load(), int64(time.Since(begun)/(8*time.Second)); got < want {
			t.Errorf("%d attempts to follow the changes, want %d", got, want)
		}
		if got, want := client.rest.Load(), int64(time.Since(begun)/(9200*time.Millisecond)); got < want {
			t.Errorf("%d queries for tags, want %d", got, want)
		}
		cancel()
		<-done
	})
}
