package floatingip_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// OS-LB-38: the floating IP is deleted after the load balancer, if a Service made it and it
// is not to be kept. What remains is free.
func TestDelete(t *testing.T) {
	t.Parallel()
	const published = "198.51.100.11"
	for name, tc := range map[string]struct {
		reason      string
		annotations annotated
		description string
		crash       bool // after the load balancer, before the floating IP
		want        []string
		deletions   int
	}{
		"Own":        {reason: "it is deleted", description: description, deletions: 1},
		"Renamed":    {reason: "it was made for a Service, and is on our port", description: formerly, deletions: 1},
		"Kept":       {reason: "it is kept", annotations: annotated{keep: "true"}, description: description, want: []string{"198.51.100.11 free, ours"}},
		"OfUser":     {reason: "a user made it", description: "mine", want: []string{"198.51.100.11 free"}},
		"Crash":      {reason: "the next run finds it by address, description and port", description: description, crash: true, deletions: 1},
		"CrashKept":  {reason: "it is kept", annotations: annotated{keep: "true"}, description: description, crash: true, want: []string{"198.51.100.11 free, ours"}},
		"CrashUser":  {reason: "a user made it", description: "mine", crash: true, want: []string{"198.51.100.11 free"}},
		"CrashName":  {reason: "the cluster had another name", description: formerly, crash: true, deletions: 1},
		"CrashOther": {reason: "it was made for another Service", description: alike, crash: true, want: []string{"198.51.100.11 free"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{}, tc.annotations)
			f.service.Annotations[string(request.AnnotationLoadBalancerAddress)] = published
			f.give(true, published, tc.description)
			ctx, existing := bounded(t), request.ForDelete(f.service, "kube")
			seen := f.observe(t, nil)
			if got := seen.Address().String(); got != published {
				t.Errorf("%s: the address is %s", tc.reason, got)
			}
			must(t, f.api.LoadBalancer().DeleteLoadBalancer(ctx, f.lb, true))
			f.Interceptor().Reset()
			if !tc.crash {
				must(t, floatingip.DiffDelete(seen, existing).Apply(ctx, f.env(), nil))
				f.wantCalls(t, "no read, no detachment", only(opDelete, tc.deletions))
			}
			left, err := floatingip.Remaining(ctx, f.api.Network(), existing, f.lb)
			must(t, err)
			if want := tc.crash && tc.deletions > 0; (left != nil) != want {
				t.Errorf("%s: left: %v", tc.reason, left)
			}
			for range 2 {
				must(t, floatingip.DeleteRemaining(left).Apply(ctx, f.env(), nil))
			}
			if left, err = floatingip.Remaining(ctx, f.api.Network(), existing, f.lb); left != nil || err != nil {
				t.Errorf("%s: after the deletion: %v, %v", tc.reason, left, err)
			}
			net := f.api.Network()
			all, err := net.ListFloatingIPs(ctx)
			must(t, err)
			var lines []string
			for _, ip := range all {
				line := ip.Address
				if ip.PortID == "" {
					line += " free"
				}
				if ip.Description == description {
					line += ", ours"
				}
				lines = append(lines, line)
			}
			if !slices.Equal(lines, tc.want) {
				t.Errorf("%s: floating IPs %v, want %v", tc.reason, lines, tc.want)
			}
		})
	}
}

// only is the calls of one operation, none for zero.
func only(op string, n int) map[string]int {
	if n == 0 {
		return map[string]int{}
	}

	return map[string]int{op: n}
}

// A floating IP remains only if that is certain, and costs no call without an address.
func TestRemaining(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, published string
		keep              bool
		gone              bool // the load balancer is deleted
		prepare           func(t *testing.T, f *fixture)
		want              bool
		err               error
		calls             map[string]int
	}{
		"Left":   {reason: "all fits", published: "198.51.100.15", prepare: func(_ *testing.T, f *fixture) { f.give(false, "198.51.100.15", description) }, want: true, calls: map[string]int{opList: 1}},
		"Kept":   {reason: "it is to be kept", published: "198.51.100.15", keep: true, prepare: func(_ *testing.T, f *fixture) { f.give(false, "198.51.100.15", description) }, calls: map[string]int{}},
		"OnPort": {reason: "something uses it", published: "198.51.100.15", prepare: func(_ *testing.T, f *fixture) { f.give(true, "198.51.100.15", description) }, calls: map[string]int{opList: 1, opPorts: 1}},
		"Behind": {reason: "the read is older than the deletion", published: "198.51.100.15", gone: true, prepare: func(_ *testing.T, f *fixture) { f.give(true, "198.51.100.15", description) }, err: floatingip.ErrStale},
		"PortGone": {reason: "the read is older than the deletion of the port", published: "198.51.100.15", err: floatingip.ErrStale, prepare: func(_ *testing.T, f *fixture) {
			f.give(true, "198.51.100.15", description)
			f.Interceptor().Inject(opPorts, simserver.Always(), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"ports": []}`))
			})
		}},
		"OnPortOfOther": {reason: "another Service's", published: "198.51.100.15", prepare: func(_ *testing.T, f *fixture) { f.give(true, "198.51.100.15", alike) }, calls: map[string]int{opList: 1}},
		"Address":       {reason: "another address", published: "198.51.100.16", prepare: func(_ *testing.T, f *fixture) { f.give(false, "198.51.100.15", description) }, calls: map[string]int{opList: 1}},
		"Description":   {reason: "another text", published: "198.51.100.15", prepare: func(_ *testing.T, f *fixture) { f.give(false, "198.51.100.15", "Note: "+description) }, calls: map[string]int{opList: 1}},
		"Never":         {reason: "there was no address", prepare: func(_ *testing.T, f *fixture) { f.give(false, "198.51.100.15", description) }, calls: map[string]int{}},
		"IPv6":          {reason: "floating IPs are IPv4", published: "fd00::5", calls: map[string]int{}},
		"NoAddress":     {reason: "a user wrote the annotation", published: "198.51.100.15&port_id=", calls: map[string]int{}},
		"Other": {reason: "that of another project is invisible", published: "198.51.100.15", calls: map[string]int{opList: 1}, prepare: func(_ *testing.T, f *fixture) {
			f.AddFloatingIP(openstack.FloatingIPSpec{Network: f.external, Address: "198.51.100.15", Description: description, Project: openstack.ProjectOther})
		}},
		"Denied": {reason: "nothing is known", published: "198.51.100.15", err: apierr.ErrDenied, prepare: func(_ *testing.T, f *fixture) {
			f.Interceptor().Inject(opList, simserver.Always(), openstack.Denied())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{}, nil)
			if tc.prepare != nil {
				tc.prepare(t, f)
			}
			existing := request.Existing{Names: f.request(t).Names, Published: tc.published, KeepFloatingIP: tc.keep}
			gone := ""
			if tc.gone {
				gone = f.lb
			}
			f.Interceptor().Reset()
			got, err := floatingip.Remaining(bounded(t), f.api.Network(), existing, gone)
			if (got != nil) != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("%s: %v, %v", tc.reason, got, err)
			}
			if tc.calls != nil {
				f.wantCalls(t, tc.reason, tc.calls)
			}
		})
	}
}

// OS-LB-17: a load balancer that a read still shows may be deleted already. What it has left
// is deleted then, and nothing else.
func TestObserveDeletion(t *testing.T) {
	t.Parallel()
	const published = "198.51.100.15"
	for name, tc := range map[string]struct {
		reason, published string
		prepare           func(f *fixture)
		deletions, lists  int
	}{
		"Left":     {"it is on no port any more", published, func(f *fixture) { f.give(false, published, description) }, 1, 2},
		"There":    {"it is on the port", published, func(f *fixture) { f.give(true, published, description) }, 1, 1},
		"OfUser":   {"a user made it", published, func(f *fixture) { f.give(false, published, "mine") }, 0, 2},
		"Internal": {"the VIP is the address", "10.0.0.2", func(f *fixture) { f.give(false, published, description) }, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{}, nil)
			tc.prepare(f)
			lb, err := f.api.LoadBalancer().GetLoadBalancer(bounded(t), f.lb)
			must(t, err)
			if tc.published != published {
				tc.published = lb.VIPAddress
			}
			existing := request.Existing{Names: f.request(t).Names, LoadBalancerID: f.lb, Published: tc.published}
			f.Interceptor().Reset()
			o, err := floatingip.ObserveDeletion(bounded(t), f.api.Network(), lb, existing)
			must(t, err)
			must(t, floatingip.DiffDelete(o, existing).Apply(bounded(t), f.env(), nil))
			want := map[string]int{opList: tc.lists}
			if tc.deletions > 0 {
				want[opDelete] = tc.deletions
			}
			f.wantCalls(t, tc.reason, want)
		})
	}
}
