package openstack

import (
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// delete deletes some servers.
func (s *schedule) delete(n int) {
	for range n {
		id := idOf(s.lost[s.rnd.IntN(len(s.lost))])
		if !s.deleted[id] {
			s.DeleteServer(id)
			s.deleted[id] = true
		}
	}
}

// pass looks at all Nodes as the lifecycle controller does.
func (s *schedule) pass() {
	for _, node := range s.lost {
		if !s.gone[idOf(node)] {
			s.look(node)
		}
	}
}

func (s *schedule) look(node *v1.Node) {
	id, instances := idOf(node), s.process.cloud.instances
	exists, err := instances.InstanceExists(s.t.Context(), node)
	s.last[id] = err
	if err == nil && !exists {
		if !s.deleted[id] {
			s.errorf("the Node of a living server is gone")
		}
		s.gone[id] = true
		if err := s.api.CoreV1().Nodes().Delete(s.t.Context(), node.Name, metav1.DeleteOptions{}); err != nil {
			s.t.Fatal(err)
		}

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
		if !s.deleted[id] {
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

// TestLossOfHalf (OS-NODE-4, OS-NODE-5): half of the cluster is lost. Its Nodes are gone within
// a minute if the deletions are recorded, and within 15 minutes if they are not, for which the
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
