package route_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/route"
)

var (
	errBroken = errors.New("broken")
	pods      = netip.MustParsePrefix("10.0.1.0/24")
)

// TestDelete: a route is deleted unless one to another Node was created since the
// last list.
func TestDelete(t *testing.T) {
	t.Parallel()
	create := func(to types.NodeName, err error) func(*testing.T, *route.Guard) {
		return func(t *testing.T, g *route.Guard) {
			t.Helper()
			destination := netip.MustParsePrefix("10.0.1.7/24") // the host bits do not matter
			got := g.Create(t.Context(), destination, to, func(context.Context) error { return err })
			if !errors.Is(got, err) {
				t.Errorf("want %v, got %v", err, got)
			}
		}
	}
	cases := map[string]struct {
		reason  string
		before  func(*testing.T, *route.Guard)
		deleted bool
	}{
		"listed":        {"nothing has changed since", func(*testing.T, *route.Guard) {}, true},
		"another Node":  {"the new route is not the one that was listed", create("new", nil), false},
		"the same Node": {"it has the route that is to be deleted", create("old", nil), true},
		"failed":        {"there is no new route", create("new", errBroken), true},
		"listed again": {"the new route is in the list", func(t *testing.T, g *route.Guard) {
			t.Helper()
			create("new", nil)(t, g)
			g.Listed()
		}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var g route.Guard
			tc.before(t, &g)
			deleted := false
			if err := g.Delete(t.Context(), pods, "old", func(context.Context) error {
				deleted = true

				return nil
			}); err != nil {
				t.Error(err)
			}
			if deleted != tc.deleted {
				t.Errorf("%s: deleted: %t", tc.reason, deleted)
			}
		})
	}
	var g route.Guard
	if err := g.Delete(t.Context(), pods, "old", func(context.Context) error { return errBroken }); !errors.Is(err, errBroken) {
		t.Errorf("want %v, got %v", errBroken, err)
	}
}

// TestOneAtATime: changes of one destination wait for each other, those of others
// do not, and a change that waits ends with its context.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g route.Guard
		var all sync.WaitGroup
		slow := func(context.Context) error {
			time.Sleep(time.Minute)

			return nil
		}
		start := time.Now()
		for range 2 {
			all.Go(func() {
				if err := g.Create(t.Context(), pods, "a", slow); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if err := g.Create(t.Context(), netip.MustParsePrefix("fd00::/64"), "a", slow); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Delete(ctx, pods, "a", slow); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while it is created: %v", err)
		}
		all.Wait()
		if took := time.Since(start); took != 2*time.Minute {
			t.Errorf("took %s", took)
		}
	})
}
