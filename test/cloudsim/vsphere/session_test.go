package vsphere

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// currentSession checks the session as clients do.
func currentSession(t *testing.T, c *govmomi.Client) *types.UserSession {
	t.Helper()
	u, err := c.SessionManager.UserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return u
}

// isUnauthorized reports whether a REST call was refused for lack of a session.
func isUnauthorized(err error) bool {
	return err != nil && rest.IsStatusError(err, http.StatusUnauthorized)
}

func TestLogin(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	try := func(password string) (soapErr, restErr error) {
		c, soapErr := tryLogin(t.Context(), v, password)
		if soapErr == nil {
			defer func() { _ = c.Logout(t.Context()) }()
			t.Cleanup(c.CloseIdleConnections)
		}
		bare, err := vim25.NewClient(t.Context(), soap.NewClient(v.URL(), true))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(bare.CloseIdleConnections)
		r := rest.NewClient(bare)
		restErr = r.Login(t.Context(), url.UserPassword(v.User(), password))
		if restErr == nil {
			_ = r.Logout(t.Context())
		}

		return soapErr, restErr
	}
	if soapErr, restErr := try("wrong"); !isFault(soapErr, &types.InvalidLogin{}) || !isUnauthorized(restErr) {
		t.Errorf("wrong password: %v, %v", soapErr, restErr)
	}
	old := v.Password()
	if soapErr, restErr := try(old); soapErr != nil || restErr != nil {
		t.Errorf("right password: %v, %v", soapErr, restErr)
	}
	v.SetPassword("rotated")
	if soapErr, restErr := try(old); !isFault(soapErr, &types.InvalidLogin{}) || !isUnauthorized(restErr) {
		t.Errorf("old password: %v, %v", soapErr, restErr)
	}
	if soapErr, restErr := try(v.Password()); soapErr != nil || restErr != nil {
		t.Errorf("new password: %v, %v", soapErr, restErr)
	}
	if left := v.Sessions(); len(left) != 0 {
		t.Errorf("sessions after logout: %+v", left)
	}
}

func TestSessionsListWhatClientsHold(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	client := login(t, v)
	r := loginREST(t, v, client)
	startWatch(t, client)
	type held struct {
		User                       string
		REST                       bool
		Collectors, Filters, Views int
	}
	var got []held
	for _, s := range v.Sessions() {
		got = append(got, held{s.User, s.REST, s.Collectors, s.Filters, s.Views})
	}
	want := []held{{v.User(), false, 1, 1, 1}, {v.User(), true, 0, 0, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	if err := errors.Join(r.Logout(t.Context()), client.Logout(t.Context())); err != nil {
		t.Fatal(err)
	}
	if left := v.Sessions(); len(left) != 0 {
		t.Errorf("sessions after logout: %+v", left)
	}
}

func TestDestroyedObjectsAreNotHeld(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	client := login(t, v)
	w := startWatch(t, client)
	if err := w.filter.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := v.Sessions()[0]; s.Filters != 0 || s.Collectors != 1 || s.Views != 1 {
		t.Errorf("after the filter: %+v", s)
	}
	if err := w.collector.Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := v.Sessions()[0]; s.Collectors != 0 {
		t.Errorf("after the collector: %+v", s)
	}
}

func TestTerminateSessions(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	client := login(t, v)
	r := loginREST(t, v, client)
	v.TerminateSessions()
	if left := v.Sessions(); len(left) != 0 {
		t.Errorf("sessions: %+v", left)
	}
	_, err := methods.GetCurrentTime(t.Context(), client)
	if !isFault(err, &types.NotAuthenticated{}) {
		t.Errorf("SOAP: %v", err)
	}
	if _, err := tags.NewManager(r).ListTags(t.Context()); !isUnauthorized(err) {
		t.Errorf("REST: %v", err)
	}
	if u := currentSession(t, client); u != nil {
		t.Errorf("current session: %+v", u)
	}
}

func TestIdleSessionsExpire(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	idle, busy := login(t, v), login(t, v)
	loginREST(t, v, idle)
	w := startWatch(t, busy)
	w.pageIn(t)
	done := make(chan error)
	go func() {
		_, _, err := w.next(t.Context())
		done <- err
	}()
	eventually(t, v.isPolling)
	v.mu.Lock()
	v.sessions.now = func() time.Time { return time.Now().Add(defaultSessionTimeout + time.Minute) }
	v.mu.Unlock()
	left := v.Sessions()
	if len(left) != 1 || left[0].Views != 1 {
		t.Errorf("only the session with a long poll is busy, left: %+v", left)
	}
	if err := v.VM("one").PowerOff(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the long poll: %v", err)
	}
}

// TestCloneSession proves how a session is shared: a ticket makes a second
// session, once, and its SOAP cookie serves REST as well.
func TestCloneSession(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	first := login(t, v)
	ticket, err := first.SessionManager.AcquireCloneTicket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(v.Sessions()); n != 1 {
		t.Errorf("a ticket is no session: %d", n)
	}
	second, err := cloneSession(t, v, ticket)
	if err != nil {
		t.Fatal(err)
	}
	startWatch(t, second)
	sessions := v.Sessions()
	if len(sessions) != 2 || sessions[0].Views+sessions[1].Views != 1 {
		t.Errorf("two sessions with objects of their own: %+v", sessions)
	}
	if _, err := cloneSession(t, v, ticket); !isFault(err, &types.InvalidLogin{}) {
		t.Errorf("a used ticket: %v", err)
	}
	r := rest.NewClient(second.Client)
	r.SessionID(second.SessionCookie().Value)
	if _, err := tags.NewManager(r).ListTags(t.Context()); err != nil {
		t.Errorf("REST with the SOAP cookie: %v", err)
	}
	if n := len(v.Sessions()); n != 2 {
		t.Errorf("the borrowed REST session is listed: %+v", v.Sessions())
	}
	if err := second.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := tags.NewManager(r).ListTags(t.Context()); !isUnauthorized(err) {
		t.Errorf("REST after the SOAP logout: %v", err)
	}
	if left := v.Sessions(); len(left) != 1 {
		t.Errorf("left: %+v", left)
	}
}

func cloneSession(t *testing.T, v *VCenter, ticket string) (*govmomi.Client, error) {
	t.Helper()
	c, err := vim25.NewClient(t.Context(), soap.NewClient(v.URL(), true))
	if err != nil {
		return nil, err
	}
	t.Cleanup(c.CloseIdleConnections)
	manager := session.NewManager(c)

	return &govmomi.Client{Client: c, SessionManager: manager}, manager.CloneSession(t.Context(), ticket)
}

func TestSharedSessionEndpoint(t *testing.T) {
	t.Parallel()
	spec := small()
	spec.VCenters[0].SessionManagerToken = "let-me-in"
	v := start(t, spec).VCenter("vc")
	request := func(method, path, token string) (status int, ticket string) {
		req, err := http.NewRequestWithContext(t.Context(), method, v.SharedSessionURL().JoinPath(path).String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		transport := new(http.Transport)
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var response struct{ Token string }
		if resp.StatusCode == http.StatusOK {
			err = json.NewDecoder(resp.Body).Decode(&response)
		}
		if err != nil {
			t.Fatal(err)
		}

		return resp.StatusCode, response.Token
	}
	for want, args := range map[int][3]string{
		http.StatusUnauthorized:     {http.MethodGet, "", "wrong"},
		http.StatusNotFound:         {http.MethodGet, "elsewhere", "let-me-in"},
		http.StatusMethodNotAllowed: {http.MethodPost, "", "let-me-in"},
	} {
		if got, _ := request(args[0], args[1], args[2]); got != want {
			t.Errorf("%v: status %d, want %d", args, got, want)
		}
	}
	status, ticket := request(http.MethodGet, "", "let-me-in")
	if status != http.StatusOK || len(v.Sessions()) != 0 {
		t.Fatalf("status %d, sessions %+v", status, v.Sessions())
	}
	client, err := cloneSession(t, v, ticket)
	if err != nil {
		t.Fatal(err)
	}
	w := startWatch(t, client)
	if all := w.pageIn(t); len(all) != 11 {
		t.Errorf("the cloned session sees %d objects, want 11", len(all))
	}
	if s := v.Sessions(); len(s) != 1 || s[0].User != v.User() {
		t.Errorf("sessions: %+v", s)
	}
	if v.Count("SharedSession") != 4 {
		t.Errorf("calls: %v", v.Calls())
	}
	if bare := start(t, small()).VCenter("vc"); bare.SharedSessionURL() != nil {
		t.Error("an endpoint without a token")
	}
}

// TestLoginByCertificate proves the login by certificate and key: a token from
// the security token service logs in to SOAP and REST.
func TestLoginByCertificate(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	c, err := vim25.NewClient(t.Context(), soap.NewClient(v.URL(), true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	issuer, err := sts.NewClient(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(issuer.CloseIdleConnections)
	certificate := solutionUser(t)
	signer, err := issuer.Issue(t.Context(), sts.TokenRequest{Certificate: certificate, Delegatable: true})
	if err != nil {
		t.Fatal(err)
	}
	c.Version = c.ServiceContent.About.ApiVersion
	manager := session.NewManager(c)
	if err := manager.LoginByToken(c.WithHeader(t.Context(), soap.Header{Security: signer})); err != nil {
		t.Fatal(err)
	}
	r := rest.NewClient(c)
	if err := r.LoginByToken(r.WithSigner(t.Context(), signer)); err != nil {
		t.Fatal(err)
	}
	if n := len(v.Sessions()); n != 2 {
		t.Errorf("sessions: %+v", v.Sessions())
	}
	if err := errors.Join(r.Logout(t.Context()), manager.Logout(t.Context())); err != nil {
		t.Fatal(err)
	}
	if v.Count("STSIssue") != 1 || v.Count("LookupList") != 1 || len(v.Sessions()) != 0 {
		t.Errorf("calls %v, sessions %+v", v.Calls(), v.Sessions())
	}
}

func solutionUser(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}

	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
