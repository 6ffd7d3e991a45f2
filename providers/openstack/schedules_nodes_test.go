package openstack

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/schedules"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// delete deletes some servers.
func (s *schedule) delete(n int) {
	for range n {
		id := idOf(s.lost[s.rnd.IntN(len(s.lost))])
		if _, deleted := s.deleted[id]; !deleted {
			s.DeleteServer(id)
			s.deleted[id] = time.Now()
		}
	}
}

// countDeletions checks that the Nodes of deleted servers are gone, and reports how long that took.
func (s *schedule) countDeletions() {
	var delays []time.Duration
	for id, at := range s.deleted {
		gone, ok := s.gone[id]
		if !ok {
			if !s.trusting() {
				s.errorf("the Node of a deleted server is not gone after %s: %v", detection, s.last[id])
			}

			continue
		}
		if at.Before(s.whole) {
			at = s.whole
		}
		delays = append(delays, max(0, gone.Sub(at)))
	}
	if s.report != nil {
		s.report.Add(delays, s.wrong, schedules.Busiest(slices.Collect(maps.Values(s.gone))))
	}
	for _, d := range s.process.cloud.instances.Decisions() {
		if len(d.Reports) == 0 || !s.trusting() && !strings.HasPrefix(d.Reports[0].Place, "Nova ") {
			s.errorf("who said that the server is gone is not known: %+v", d)
		}
	}
}

// trusting reports whether the process proves nothing, so that it deletes Nodes of living servers.
func (s *schedule) trusting() bool { return s.report != nil && s.report.Trusting }

// pass looks at all Nodes as the lifecycle controller does.
func (s *schedule) pass() {
	for _, node := range s.lost {
		if _, gone := s.gone[idOf(node)]; !gone {
			s.look(node)
		}
	}
}

func (s *schedule) look(node *v1.Node) {
	id, instances := idOf(node), s.process.cloud.instances
	exists, err := instances.InstanceExists(s.t.Context(), node)
	s.last[id] = err
	if err == nil && !exists {
		if _, deleted := s.deleted[id]; !deleted {
			s.wrong++
			if !s.trusting() {
				s.errorf("the Node of a living server is gone")
			}
		}
		s.gone[id] = time.Now()
		if err := s.api.CoreV1().Nodes().Delete(s.t.Context(), node.Name, metav1.DeleteOptions{}); err != nil {
			s.t.Fatal(err)
		}
		synctest.Wait() // the watch of a fake API server holds 100 changes

		return
	}
	if shutdown, err := instances.InstanceShutdown(s.t.Context(), node); shutdown && err == nil {
		s.errorf("a running server is shut down")
	}
}

// unmap makes the mapping of some living servers incomplete.
func (s *schedule) unmap() func() {
	var ids []string
	for range 1 + s.rnd.IntN(len(s.lost)) {
		id := idOf(s.lost[s.rnd.IntN(len(s.lost))])
		if _, deleted := s.deleted[id]; !deleted {
			s.SetServerMapped(id, false)
			ids = append(ids, id)
		}
	}

	return func() {
		for _, id := range ids {
			s.SetServerMapped(id, true)
		}
	}
}

// TestLossOfHalf (OS-NODE-4, OS-NODE-5, FW-NODE-15): half of the cluster is lost. Its Nodes are gone within
// a minute if the deletions are recorded and not limited, and within 15 minutes if they are not, for which the
// tests without the race detector wait.
func TestLossOfHalf(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	for name, tc := range map[string]struct {
		recorded bool
		limit    time.Duration
	}{
		"recorded":     {true, detection},
		"not recorded": {false, 15 * time.Minute},
	} {
		if profile.Race && !tc.recorded {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScheduledCloud(t, 0).schedule(t, 0)
				s.unlimited = true
				s.process = s.begin()
				s.pass()
				for len(s.deleted) < len(s.lost)/2 {
					s.delete(1)
				}
				if !tc.recorded {
					s.ArchiveServers()
				}
				began := time.Now()
				for s.pass(); len(s.gone) < len(s.deleted) && time.Since(began) < tc.limit; s.pass() {
					time.Sleep(certainty.Pass)
				}
				s.process.end()
				t.Logf("%d of %d Nodes are gone after %s", len(s.gone), len(s.deleted), time.Since(began))
				if len(s.gone) < len(s.deleted) {
					t.Errorf("%d of %d Nodes are gone after %s", len(s.gone), len(s.deleted), tc.limit)
				}
			})
		})
	}
}
