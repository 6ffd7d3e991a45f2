package session_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

func (a *apiServer) source(t *testing.T) *session.Secret {
	t.Helper()
	client := a.client(t, runtime.ContentTypeProtobuf)

	return session.NewSecret(client.CoreV1().RESTClient(), secretNamespace, secretName)
}

// VS-AUTH-5, VS-AUTH-10: the named Secret is watched, in its namespace alone; new
// credentials make a new session and the old one is logged out.
func TestRotationBySecret(t *testing.T) {
	t.Parallel()
	b, api := newFixture(t, vsphere.VCenterSpec{}), newAPIServer(t)
	api.put(b.dotted(b.Password())...)
	source := api.source(t)
	runs(t, source)
	s := b.open(t, session.Options{}, source)
	eventually(t, "watch", func() bool { return api.get(func(a *apiServer) int { return a.watches }) == 1 })
	b.rotates(t, s, func(password string) { api.put(b.dotted(password)...) })
}

// VS-AUTH-4: the Secret is read before the first login and preferred to what
// stands in the file, whether anything runs yet or not.
func TestSecretIsPreferred(t *testing.T) {
	t.Parallel()
	b, api := newFixture(t, vsphere.VCenterSpec{}), newAPIServer(t)
	api.put(b.dotted(b.Password())...)
	stale := session.Inline(session.Credentials{User: b.User(), Password: "stale"})
	s := b.open(t, session.Options{}, api.source(t), stale)
	must(t, s.SOAP(bounded(t), find))
	if n := b.Count("Login"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

// VS-CONFIG-6: the Secret of an entry wins over the global one; the global one
// serves the entries that are not in their own.
func TestEntrySecretWins(t *testing.T) {
	t.Parallel()
	b, entry, global := newFixture(t, vsphere.VCenterSpec{}), newAPIServer(t), newAPIServer(t)
	entry.put(b.dotted(b.Password())...)
	global.put(b.dotted("wrong")...)
	s := b.open(t, session.Options{}, entry.source(t), global.source(t))
	must(t, s.SOAP(bounded(t), find))

	entry.put("other.username", "u", "other.password", "p")
	global.put(b.dotted(b.Password())...)
	s = b.open(t, session.Options{}, entry.source(t), global.source(t))
	must(t, s.SOAP(bounded(t), find))
	if n := b.Count("Login"); n != 2 {
		t.Errorf("%d logins, want 2", n)
	}
}

// VS-AUTH-6: the last credentials of a deleted Secret keep working; written
// again, they are used.
func TestSecretIsDeleted(t *testing.T) {
	t.Parallel()
	b, api := newFixture(t, vsphere.VCenterSpec{}), newAPIServer(t)
	api.put(b.dotted(b.Password())...)
	source := api.source(t)
	runs(t, source)
	s := b.open(t, session.Options{}, source)
	ctx := bounded(t)
	must(t, s.SOAP(ctx, find))
	api.put()
	b.TerminateSessions()
	must(t, s.SOAP(ctx, find))
	must(t, s.SOAP(ctx, find))

	b.SetPassword("second")
	b.TerminateSessions()
	api.put(b.dotted("second")...)
	eventually(t, "login with what was written again", func() bool { return s.SOAP(ctx, find) == nil })
}

// VS-AUTH-6: a Secret that does not exist yet is waited for.
func TestSecretAppears(t *testing.T) {
	t.Parallel()
	b, api := newFixture(t, vsphere.VCenterSpec{}), newAPIServer(t)
	source := api.source(t)
	runs(t, source)
	s := b.open(t, session.Options{Clock: b.clock}, source)
	ctx := bounded(t)
	if err := s.SOAP(ctx, find); !errors.Is(err, apierr.ErrUnavailable) || !strings.Contains(err.Error(), "secret kube-system/vsphere-cloud-secret") {
		t.Errorf("SOAP() = %v, want %v and the name of the Secret", err, apierr.ErrUnavailable)
	}
	api.put(b.dotted(b.Password())...)
	// The clock stands still: it is the news that ends the pause.
	eventually(t, "login", func() bool { return s.SOAP(ctx, find) == nil })
	if n := b.Count("Login"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

// VS-AUTH-6: a role that does not allow the Secret is an error that names it, and
// that ends once the role allows it.
func TestSecretIsForbidden(t *testing.T) {
	t.Parallel()
	b, api := newFixture(t, vsphere.VCenterSpec{}), newAPIServer(t)
	api.put(b.dotted(b.Password())...)
	api.set(func(a *apiServer) { a.deny = true })
	source := api.source(t)
	runs(t, source)
	s := b.open(t, session.Options{Clock: b.clock}, source)
	ctx := bounded(t)
	if err := s.SOAP(ctx, find); !errors.Is(err, apierr.ErrUnavailable) || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("SOAP() = %v, want %v and the reason", err, apierr.ErrUnavailable)
	}
	api.set(func(a *apiServer) { a.deny = false })
	eventually(t, "login", func() bool { return s.SOAP(ctx, find) == nil })
}

// Watches end all the time; nothing is missed between two of them, and a server
// that ends them at once is not asked at its own pace.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	b, api := newFixture(t, vsphere.VCenterSpec{}), newAPIServer(t)
	api.put(b.dotted("first")...)
	api.set(func(a *apiServer) { a.cut = 1 })
	source := api.source(t)
	runs(t, source)
	eventually(t, "first watch", func() bool { return api.get(func(a *apiServer) int { return a.watches }) == 1 })
	api.put(b.dotted("second")...)
	eventually(t, "second password", func() bool {
		c, err := source.Lookup(t.Context(), b.endpoint.Server)

		return err == nil && c.Password.Reveal() == "second"
	})
	if n := api.get(func(a *apiServer) int { return a.lists }); n > 3 {
		t.Errorf("%d lists, want few", n)
	}
}

// VS-AUTH-1: credentials of both key forms reach the session, IPv6 by the
// suffixed one.
func TestSuffixedIPv6(t *testing.T) {
	t.Parallel()
	b, api := newFixture(t, vsphere.VCenterSpec{Listen: "[::1]:0"}), newAPIServer(t)
	api.put("server_a", "::1", "username_a", b.User(), "password_a", b.Password())
	s := b.open(t, session.Options{}, api.source(t))
	must(t, s.SOAP(bounded(t), find))
	if soap, _ := b.ids(); len(soap) != 1 {
		t.Errorf("sessions = %v, want one", soap)
	}
}
