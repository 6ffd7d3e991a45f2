package octavia_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// madeByOctavia are the attributes of a listener that no request has: all others must be
// those of the old one in a listener that is created again.
var madeByOctavia = []string{
	"id", "project_id", "tenant_id", "provisioning_status", "operating_status", "created_at", "updated_at", "loadbalancers", "l7policies",
}

// drawListener draws a listener with all that a user can set, with certificates.
func drawListener(refs []string, pool string) func(*rapid.T) client.ListenerCreate {
	return func(r *rapid.T) client.ListenerCreate {
		l := client.ListenerCreate{
			Name: "listener_0_" + lbn, Tags: []string{lbn}, Protocol: "TCP", Port: 80, DefaultPoolID: pool,
			Description: rapid.SampledFrom([]string{"", "of a user"}).Draw(r, "description"),
		}
		maybe := func(name string, set func()) {
			if rapid.Bool().Draw(r, name) {
				set()
			}
		}
		number := func(name string) *int { return new(rapid.IntRange(0, 9000).Draw(r, name)) }
		maybe("admin", func() { l.AdminUp = new(rapid.Bool().Draw(r, "up")) })
		maybe("limit", func() { l.ConnectionLimit = number("connections") })
		maybe("tags", func() { l.Tags = append(l.Tags, "mine", "other") })
		maybe("cidrs", func() { l.AllowedCIDRs = []string{"192.0.2.0/24", "198.51.100.0/24"} })
		maybe("client", func() { l.TimeoutClientData = number("client data") })
		maybe("connect", func() { l.TimeoutMemberConnect = number("member connect") })
		maybe("member", func() { l.TimeoutMemberData = number("member data") })
		maybe("inspect", func() { l.TimeoutTCPInspect = number("TCP inspect") })
		if rapid.Bool().Draw(r, "TCP") {
			return l
		}
		l.Protocol, l.TLSContainerRef = "TERMINATED_HTTPS", refs[0]
		maybe("headers", func() { l.InsertHeaders = map[string]string{"X-Forwarded-Port": "true", "X-SSL-Issuer": "true"} })
		maybe("SNI", func() { l.SNIRefs = refs[1:3] })
		maybe("ciphers", func() { l.TLSCiphers = "TLS_AES_256_GCM_SHA384" })
		maybe("versions", func() { l.TLSVersions = []string{"TLSv1.3"} })
		maybe("ALPN", func() { l.ALPNProtocols = []string{"http/1.1"} })
		maybe("CA", func() { l.ClientCARef, l.ClientCRLRef, l.ClientAuthentication = refs[3], refs[4], "OPTIONAL" })
		maybe("HSTS", func() { l.HSTSMaxAge, l.HSTSPreload, l.HSTSIncludeSubdomains = number("seconds"), true, true })

		return l
	}
}

// restored replaces a listener that a user has made by one that is refused, and returns the
// attributes of the old one and of the one that is there then.
func (f *writeFixture) restored(reason string, made client.ListenerCreate) (before, after map[string]any) {
	f.t.Helper()
	old, _ := f.first()
	f.write(func(ctx context.Context) error { return f.api.DeleteListener(ctx, old.ID) })
	f.write(func(ctx context.Context) error {
		_, err := f.api.CreateListener(ctx, f.lb, made)

		return err
	})
	f.Interceptor().Reset()
	f.Interceptor().Inject(opCreateListener, simserver.Nth(2), openstack.Error(501, "", "Provider 'amphora' does not support it today"))
	wanted := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationXForwardedFor, "true"))
	before = f.Listener(f.LoadBalancer(f.lb).Listeners[0])
	_, err := f.try(wanted)
	f.fails(reason, err, apierr.ErrInvalid, "created again")
	f.sent(reason, opDeleteListener, 1)
	f.Interceptor().Clear()

	return before, f.Listener(f.LoadBalancer(f.lb).Listeners[0])
}

// OS-LB-28: a listener that is created again, since its replacement is refused, has all that
// the old one had.
func TestRestoredListener(t *testing.T) {
	t.Parallel()
	varied := map[string]bool{}
	for seed := range drawn {
		// A stale read would be another attempt.
		inBubble(t, openstack.Options{OctaviaMinor: 27, StaleReads: new(openstack.StaleReads)}, func(f *writeFixture) {
			f.ensure(web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationXForwardedFor, "true")))
			l, p := f.first()
			plain := f.Listener(l.ID)
			var refs []string
			for i := range 5 {
				refs = append(refs, f.AddSecret(openstack.SecretSpec{Name: fmt.Sprint("certificate-", i)}))
			}
			made := rapid.Custom(drawListener(refs, p.ID)).Example(seed)
			before, after := f.restored(fmt.Sprint("seed ", seed), made)
			for _, name := range madeByOctavia {
				delete(before, name)
				delete(after, name)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				f.t.Errorf("seed %d: -old +new:\n%s", seed, diff)
			}
			for name, value := range before {
				varied[name] = varied[name] || !cmp.Equal(value, plain[name])
			}
		})
	}
	// No request changes the port and the pool, and the name is that of the port.
	for _, name := range slices.Sorted(maps.Keys(varied)) {
		if !varied[name] && !slices.Contains([]string{"name", "protocol_port", "default_pool_id"}, name) {
			t.Errorf("no listener was drawn with %s", name)
		}
	}
}
