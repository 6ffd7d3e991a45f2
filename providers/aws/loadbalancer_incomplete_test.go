package aws

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An instance that EC2 omits in one response stays registered when another node
// joins, and is not registered where it is new.
func TestUnknownInstanceStaysRegisteredWhenANodeJoins(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := balance(t, uncached)
			svc := web(options...)
			b.ensure(svc)
			joined := b.seed.AddNodes(2)
			b.hide(b.ids[0], joined[0])
			b.nodes = append(b.nodes, nodesOf(joined...)...)
			_ = b.update(svc)
			want := slices.Sorted(slices.Values([]string{b.ids[0], b.ids[1], b.ids[2], joined[1]}))
			if diff := cmp.Diff(want, b.registered(webName)); diff != "" {
				t.Errorf("registered: -want +got\n%s", diff)
			}
			b.Gate().Mend()
			b.ensure(svc)
			if got := b.registered(webName); len(got) != 5 {
				t.Errorf("registered after EC2 knows all instances again: %v", got)
			}
			b.admitted(webName)
		})
	}
}
