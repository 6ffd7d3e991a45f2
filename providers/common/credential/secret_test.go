package credential_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential/credentialtest"
)

func newSecret(t *testing.T) (*credentialtest.APIServer, *credential.Secret[login]) {
	t.Helper()
	api := credentialtest.NewAPIServer(t, "kube-system", "credentials")
	client := api.Client(t, runtime.ContentTypeProtobuf).CoreV1().RESTClient()

	return api, credential.NewSecret(client, "kube-system", "credentials", parse)
}

// A Secret that does not exist, or that the role does not allow, is an error that
// names it. It is read as soon as it is possible, and stays in use when it is deleted.
func TestSecret(t *testing.T) {
	t.Parallel()
	api, source := newSecret(t)
	lookup := func(reason, want string) {
		t.Helper()
		got, err := source.Lookup(t.Context(), "one")
		switch {
		case err == nil && got.password != want:
			t.Errorf("%s: Lookup() = %v, want %q", reason, got, want)
		case err != nil && (!errors.Is(err, apierr.ErrUnavailable) || !strings.Contains(err.Error(), "secret kube-system/credentials") ||
			!strings.Contains(err.Error(), want)):
			t.Errorf("%s: Lookup() = %v, want %v and %q", reason, err, apierr.ErrUnavailable, want)
		}
	}
	lookup("no Secret", "does not exist")
	api.Deny(true)
	lookup("not allowed", "forbidden")
	api.Deny(false)
	api.Put(pairs("first")...)
	lookup("written", "first")
	changes := follow(t, source)
	api.Put(pairs("second")...)
	await(t, source, changes, "second")
	api.Delete()
	lookup("deleted", "second")
	api.Put(pairs("third")...)
	await(t, source, changes, "third")
}

// Watches end all the time; nothing is missed between two of them, and a server that
// ends them at once is not called without a delay.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	api, source := newSecret(t)
	api.Put(pairs("first")...)
	api.EndWatches(1)
	changes := follow(t, source)
	await(t, source, changes, "first")
	api.Put(pairs("second")...)
	await(t, source, changes, "second")
	if n := api.Lists(); n > 3 {
		t.Errorf("%d lists, want few", n)
	}
}
