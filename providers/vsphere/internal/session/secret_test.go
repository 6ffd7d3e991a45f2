package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential/credentialtest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

const (
	secretNamespace = "kube-system"
	secretName      = "vsphere-cloud-secret"
)

// newSecret starts an API server with a Secret of these keys, or without any.
func newSecret(t *testing.T, pairs ...string) (*credentialtest.APIServer, *credential.Secret[session.Credentials]) {
	t.Helper()
	api := credentialtest.NewAPIServer(t, secretNamespace, secretName)
	if len(pairs) > 0 {
		api.Put(pairs...)
	}
	client := api.Client(t, runtime.ContentTypeProtobuf)

	return api, credential.NewSecret(client.CoreV1().RESTClient(), secretNamespace, secretName, session.Parse)
}

// VS-AUTH-5, VS-AUTH-10: the named Secret is watched, in its namespace alone; new
// credentials make a new session and the old one is logged out.
func TestRotationBySecret(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	api, source := newSecret(t, b.dotted(b.Password())...)
	runSource(t, source)
	s := b.open(t, session.Options{}, source)
	eventually(t, "watch", func() bool { return api.Watches() == 1 })
	b.checkRotation(t, s, func(password string) { api.Put(b.dotted(password)...) })
}

// VS-AUTH-4: the Secret is read before the first login and preferred to what
// stands in the file, whether the source runs yet or not.
func TestSecretIsPreferred(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	_, source := newSecret(t, b.dotted(b.Password())...)
	inline := session.NewInFile(session.Credentials{User: b.User(), Password: "outdated"})
	s := b.open(t, session.Options{}, source, inline)
	must(t, s.SOAP(bounded(t), find))
	if n := b.Count("Login"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

// VS-CONFIG-6: the Secret of an entry wins over the global one; the global one
// serves the entries that are not in their own.
func TestEntrySecretWins(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	_, entry := newSecret(t, b.dotted(b.Password())...)
	_, global := newSecret(t, b.dotted("wrong")...)
	s := b.open(t, session.Options{}, entry, global)
	must(t, s.SOAP(bounded(t), find))

	_, entry = newSecret(t, "other.username", "u", "other.password", "p")
	_, global = newSecret(t, b.dotted(b.Password())...)
	s = b.open(t, session.Options{}, entry, global)
	must(t, s.SOAP(bounded(t), find))
	if n := b.Count("Login"); n != 2 {
		t.Errorf("%d logins, want 2", n)
	}
}

// A Secret without the vCenter, and nothing else, is an error that names both.
func TestNoCredentialsForServer(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	_, source := newSecret(t, "vc9.username", "u", "vc9.password", "p")
	err := b.open(t, session.Options{}, source).SOAP(bounded(t), find)
	want := fmt.Sprintf("secret %s/%s: Credentials not found for server %q", secretNamespace, secretName, b.endpoint.Server)
	if !errors.Is(err, session.ErrNotFound) || !errors.Is(err, apierr.ErrDenied) || !strings.Contains(err.Error(), want) {
		t.Errorf("SOAP() = %v, want %q", err, want)
	}
}

// VS-AUTH-6: the last credentials of a deleted Secret keep working; written
// again, they are used.
func TestSecretIsDeleted(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	api, source := newSecret(t, b.dotted(b.Password())...)
	runSource(t, source)
	s := b.open(t, session.Options{}, source)
	ctx := bounded(t)
	must(t, s.SOAP(ctx, find))
	api.Delete()
	b.TerminateSessions()
	must(t, s.SOAP(ctx, find))
	must(t, s.SOAP(ctx, find))

	b.SetPassword("second")
	b.TerminateSessions()
	api.Put(b.dotted("second")...)
	eventually(t, "login with the new Secret", func() bool { return s.SOAP(ctx, find) == nil })
}

// VS-AUTH-6: a Secret that does not exist yet is waited for.
func TestSecretAppears(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	api, source := newSecret(t)
	runSource(t, source)
	s := b.open(t, session.Options{Clock: b.clock}, source)
	ctx := bounded(t)
	if err := s.SOAP(ctx, find); !errors.Is(err, apierr.ErrUnavailable) || !strings.Contains(err.Error(), "secret kube-system/vsphere-cloud-secret") {
		t.Errorf("SOAP() = %v, want %v and the name of the Secret", err, apierr.ErrUnavailable)
	}
	api.Put(b.dotted(b.Password())...)
	// The clock stands still: the change ends the delay.
	eventually(t, "login", func() bool { return s.SOAP(ctx, find) == nil })
	if n := b.Count("Login"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

// VS-AUTH-6: a role that does not allow the Secret is an error that names it, and
// that ends once the role allows it.
func TestSecretIsForbidden(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{})
	api, source := newSecret(t, b.dotted(b.Password())...)
	api.Deny(true)
	runSource(t, source)
	s := b.open(t, session.Options{Clock: b.clock}, source)
	ctx := bounded(t)
	if err := s.SOAP(ctx, find); !errors.Is(err, apierr.ErrUnavailable) || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("SOAP() = %v, want %v and the reason", err, apierr.ErrUnavailable)
	}
	api.Deny(false)
	eventually(t, "login", func() bool { return s.SOAP(ctx, find) == nil })
}

// VS-AUTH-1: credentials of both key forms reach the session, IPv6 by the
// suffixed one.
func TestSuffixedIPv6(t *testing.T) {
	t.Parallel()
	b := newFixture(t, vsphere.VCenterSpec{Listen: "[::1]:0"})
	_, source := newSecret(t, "server_a", "::1", "username_a", b.User(), "password_a", b.Password())
	s := b.open(t, session.Options{}, source)
	must(t, s.SOAP(bounded(t), find))
	if soap, _ := b.ids(); len(soap) != 1 {
		t.Errorf("sessions = %v, want one", soap)
	}
}
