package tagging

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestBatching is AWS-TAG-6: equal tags for up to 50 instances are one call.
func TestBatching(t *testing.T) {
	t.Parallel()
	b := newFixture(t, nil)
	gather := batch.Options{Window: time.Hour, MaxSize: batches().MaxSize}
	w := newWriter(b.controller.config.EC2, Options{Tags: map[string]string{"k": "v"}, Batching: true}, gather)
	const calls = 2
	var all sync.WaitGroup
	for range calls * gather.MaxSize {
		id := b.cloud.AddInstance(aws.InstanceSpec{InterfaceSpec: aws.InterfaceSpec{Subnet: b.subnet}})
		all.Go(func() {
			if err := w.tag(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := b.cloud.Interceptor().Count("CreateTags"); got != calls {
		t.Errorf("%d calls of CreateTags for %d instances, want %d", got, calls*gather.MaxSize, calls)
	}
}

// TestBatchWithWrongInstance is AWS-TAG-6: the instance that EC2 refuses fails
// alone, and the others are sent once more, together.
func TestBatchWithWrongInstance(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason    string
		instances []string
		wrong     []string
		calls     [][]string
	}{
		"none":    {"one call is enough", []string{"i-1", "i-2"}, nil, [][]string{{"i-1", "i-2"}}},
		"one":     {"the others go together", []string{"i-1", "i-2", "i-3"}, []string{"i-2"}, [][]string{{"i-1", "i-2", "i-3"}, {"i-1", "i-3"}}},
		"nothing": {"no call without instances", []string{"i-2"}, []string{"i-2"}, [][]string{{"i-2"}}},
		"two":     {"EC2 names one at a time", []string{"i-1", "i-2", "i-3"}, []string{"i-2", "i-3"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, nil)
			ids := map[string]string{}
			for _, id := range test.instances {
				if !slices.Contains(test.wrong, id) {
					b.cloud.AddInstance(aws.InstanceSpec{ID: id + "0000000000000000", InterfaceSpec: aws.InterfaceSpec{Subnet: b.subnet}})
				}
				ids[id+"0000000000000000"] = id
			}
			var calls [][]string
			w := newWriter(b.controller.config.EC2, Options{Tags: map[string]string{"k": "v"}, Batching: true},
				batch.Options{Window: time.Hour, MaxSize: len(ids)})
			errs := make(chan error, len(ids))
			for _, id := range slices.Sorted(maps.Keys(ids)) {
				go func() {
					err := w.tag(t.Context(), id)
					_, refused := errors.AsType[*refusedError](err)
					if wrong := slices.Contains(test.wrong, ids[id]); wrong != refused || wrong != (err != nil) {
						errs <- fmt.Errorf("%s: %w", id, err)

						return
					}
					errs <- nil
				}()
			}
			for range ids {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			for _, r := range b.cloud.Requests("CreateTags") {
				var resources []string
				for i := 1; r.Form.Get(fmt.Sprintf("ResourceId.%d", i)) != ""; i++ {
					resources = append(resources, ids[r.Form.Get(fmt.Sprintf("ResourceId.%d", i))])
				}
				calls = append(calls, resources)
			}
			if test.calls == nil {
				return // which one it names first is its choice
			}
			if len(calls) != len(test.calls) {
				t.Fatalf("%s: calls %v, want %v", test.reason, calls, test.calls)
			}
			for i := range calls {
				if diff := cmp.Diff(setOf(test.calls[i]), setOf(calls[i])); diff != "" {
					t.Errorf("%s: call %d: -want, +got:\n%s", test.reason, i+1, diff)
				}
			}
		})
	}
}

func setOf(list []string) map[string]bool {
	set := map[string]bool{}
	for _, item := range list {
		set[item] = true
	}

	return set
}
