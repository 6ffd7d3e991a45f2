package client_test

import (
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// What references to certificates mean. Only their end counts: the rest may be another
// endpoint of the same service.
func TestCheckReference(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	secret := f.AddSecret(openstack.SecretSpec{Name: "tls"})
	container := f.AddSecret(openstack.SecretSpec{Name: "tls", Container: true})
	foreign := f.AddSecret(openstack.SecretSpec{Name: "tls", Project: openstack.ProjectOther})
	end := func(ref string) string { return ref[strings.LastIndex(ref, "/v1/")+len("/v1/"):] }
	cases := map[string]struct {
		reason, ref string
		want        error
		calls       int
	}{
		"Secret":      {"a secret", secret, nil, 1},
		"Container":   {"a container", container, nil, 1},
		"OtherHost":   {"the host of an internal endpoint", "https://barbican.internal:9311/v1/" + end(secret), nil, 1},
		"Slash":       {"a slash at the end", container + "/", nil, 1},
		"Missing":     {"no such secret", "https://x/v1/secrets/" + missingID, apierr.ErrNotFound, 1},
		"OtherKind":   {"a secret is no container", strings.Replace(secret, "secrets", "containers", 1), apierr.ErrNotFound, 1},
		"Foreign":     {"of another project", foreign, apierr.ErrDenied, 1},
		"Empty":       {"nothing", "", apierr.ErrInvalid, 0},
		"IDAlone":     {"an ID alone", missingID, apierr.ErrInvalid, 0},
		"Orders":      {"another resource", "https://x/v1/orders/" + missingID, apierr.ErrInvalid, 0},
		"NoID":        {"a name in place of the ID", "https://x/v1/secrets/tls", apierr.ErrInvalid, 0},
		"Traversal":   {"a path that leads elsewhere", "https://x/v1/secrets/..", apierr.ErrInvalid, 0},
		"Unparseable": {"no URL", "https://x/%zz/secrets/" + missingID, apierr.ErrInvalid, 0},
	}
	manager := f.open(t, nil).KeyManager()
	count := func() int {
		return f.Interceptor().Count("barbican.ShowSecret") + f.Interceptor().Count("barbican.ShowContainer")
	}
	for name, tc := range cases {
		before := count()
		err := manager.CheckReference(bounded(t), tc.ref)
		if tc.want == nil && err != nil || tc.want != nil && is(err, tc.want) != nil {
			t.Errorf("%s: %s: %v, want %v", name, tc.reason, err, tc.want)
		}
		if got := count() - before; got != tc.calls {
			t.Errorf("%s: %d calls, want %d", name, got, tc.calls)
		}
	}
}

// Nothing is known about a secret if the service does not respond as itself.
func TestCheckReferenceUnknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	secret := f.AddSecret(openstack.SecretSpec{Name: "tls"})
	manager := f.open(t, nil).KeyManager()
	for _, fault := range []simserver.Fault{openstack.Proxy(404, ""), raw(200, `{}`), raw(200, `[]`)} {
		f.Interceptor().Clear()
		f.Interceptor().Inject("barbican", simserver.Always(), fault)
		must(t, is(manager.CheckReference(bounded(t), secret), apierr.ErrUnavailable))
	}
}

// Without the service, the reason is an error that is not about the secret.
func TestNoKeyManager(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{Catalog: openstack.Catalog{Without: []string{"key-manager"}}})
	manager := f.open(t, nil).KeyManager()
	must(t, is(manager.Available(bounded(t)), apierr.ErrUnavailable))
	must(t, is(manager.CheckReference(bounded(t), "https://x/v1/secrets/"+missingID), apierr.ErrUnavailable))
}
