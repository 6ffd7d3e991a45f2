package vsphere

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"
)

func isUnavailable(err error) bool {
	return err != nil && rest.IsStatusError(err, http.StatusServiceUnavailable)
}

func TestRESTIsDownByItself(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	client := login(t, v)
	r := loginREST(t, v, client)
	v.RESTDown()
	if _, err := tags.NewManager(r).ListTags(t.Context()); !isUnavailable(err) {
		t.Errorf("REST call: %v", err)
	}
	if err := tryREST(t, v, v.User(), v.Password()); !isUnavailable(err) {
		t.Errorf("REST login: %v", err)
	}
	if _, err := methods.GetCurrentTime(t.Context(), client); err != nil {
		t.Errorf("SOAP call: %v", err)
	}
	v.RESTUp()
	if _, err := tags.NewManager(r).ListTags(t.Context()); !isUnauthorized(err) {
		t.Errorf("REST call with a session from before: %v", err)
	}
	if err := tryREST(t, v, v.User(), v.Password()); err != nil {
		t.Errorf("REST login: %v", err)
	}
}

func TestRESTSessionsAreLimited(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	r := bareREST(t, v)
	for range maxRESTSessions {
		if err := r.Login(t.Context(), url.UserPassword(v.User(), v.Password())); err != nil {
			t.Fatal(err)
		}
	}
	if err := tryREST(t, v, v.User(), v.Password()); !isUnavailable(err) {
		t.Errorf("login %d: %v", maxRESTSessions+1, err)
	}
	if err := try(t, v, v.Password()); err != nil {
		t.Errorf("SOAP login: %v", err)
	}
	if err := r.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tryREST(t, v, v.User(), v.Password()); err != nil {
		t.Errorf("login after a logout: %v", err)
	}
}
