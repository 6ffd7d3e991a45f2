package openstack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

var begin = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// status returns the HTTP status of an error of gophercloud, 0 for none.
func status(err error) int {
	if response, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		return response.Actual
	}

	return 0
}

// result is a response as it came over the wire.
type result struct {
	Status int
	Header http.Header
	Body   string
}

// send makes a call without gophercloud. Header are pairs of names and values.
func send(t *testing.T, cloud *openstack.Cloud, method, path, body string, header ...string) result {
	t.Helper()
	client := cloud.HTTPClient()
	defer client.CloseIdleConnections()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	request, err := http.NewRequestWithContext(t.Context(), method, cloud.URL()+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}

	return result{response.StatusCode, response.Header, string(text)}
}

// message returns the text of an error response of any service.
func (r result) message() string {
	var body map[string]struct{ Message string }
	_ = json.Unmarshal([]byte(r.Body), &body) // other shapes have no message
	for _, e := range body {
		return e.Message
	}

	return r.Body
}

func TestVersionDocumentsOfKeystone(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	root := send(t, cloud, "GET", "/identity", "")
	if root.Status != http.StatusMultipleChoices || root.Header.Get("Location") != cloud.URL()+"/identity/v3/" {
		t.Errorf("GET /identity = %d to %q, want 300 to the document of v3", root.Status, root.Header.Get("Location"))
	}
	if v3 := send(t, cloud, "GET", "/identity/v3", ""); v3.Status != http.StatusOK {
		t.Errorf("GET /identity/v3 = %d", v3.Status)
	}
	options := cloud.AuthOptions(openstack.UserCCM)
	options.IdentityEndpoint = cloud.URL() + "/identity"
	login(t, cloud, options)
	if got := cloud.Interceptor().Count("keystone.ListVersions"); got != 2 {
		t.Errorf("an unversioned URL led to %d lists of versions, want one more", got-1)
	}
}

// TestLogin logs in by every method.
func TestLogin(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	id, secret := cloud.AddApplicationCredential(openstack.ApplicationCredentialSpec{User: openstack.UserCCM, Name: "cluster"})
	password := openstack.Password(openstack.UserCCM)
	project := &gophercloud.AuthScope{ProjectID: cloud.ProjectID(openstack.ProjectCCM)}
	cases := map[string]struct {
		reason  string
		options gophercloud.AuthOptions
		project string
		user    string
	}{
		"name and project name": {
			"the usual way", gophercloud.AuthOptions{Username: "ccm", Password: password, DomainName: "Default", TenantName: "ccm"}, "ccm", "ccm",
		},
		"user ID": {
			"an ID needs no domain", gophercloud.AuthOptions{UserID: cloud.UserID("ccm"), Password: password, Scope: project}, "ccm", "ccm",
		},
		"no scope": {
			"the default project of the user", gophercloud.AuthOptions{UserID: cloud.UserID("ccm"), Password: password}, "ccm", "ccm",
		},
		"application credential by ID": {
			"no scope in the request", gophercloud.AuthOptions{ApplicationCredentialID: id, ApplicationCredentialSecret: secret}, "ccm", "ccm",
		},
		"application credential by name": {
			"names are unique for a user",
			gophercloud.AuthOptions{
				ApplicationCredentialName: "cluster", ApplicationCredentialSecret: secret, Username: "ccm", DomainName: "Default",
			},
			"ccm", "ccm",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.options.IdentityEndpoint = cloud.AuthURL()
			client := login(t, cloud, tc.options)
			token, ok := client.GetAuthResult().(tokens.CreateResult)
			if !ok {
				t.Fatalf("%s: a result of type %T", tc.reason, client.GetAuthResult())
			}
			gotProject, err := token.ExtractProject()
			if err != nil || gotProject == nil || gotProject.Name != tc.project {
				t.Errorf("%s: project = %+v, %v; want %s", tc.reason, gotProject, err, tc.project)
			}
			if user, err := token.ExtractUser(); err != nil || user.Name != tc.user {
				t.Errorf("%s: user = %+v, %v; want %s", tc.reason, user, err, tc.user)
			}
		})
	}
}

func TestTrustActsAsItsTrustor(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	cloud.AddUser("cluster", openstack.ProjectService)
	trust := cloud.AddTrust(openstack.UserCCM, "cluster", openstack.ProjectCCM, openstack.RoleMember)
	body, err := json.Marshal(map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{"user": map[string]any{
			"id": cloud.UserID("cluster"), "password": openstack.Password("cluster"),
		}}},
		"scope": map[string]any{"OS-TRUST:trust": map[string]any{"id": trust}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	made := send(t, cloud, "POST", "/identity/v3/auth/tokens", string(body))
	var got struct {
		Token struct {
			User    struct{ Name string }
			Project struct{ Name string }
			Roles   []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(made.Body), &got); err != nil {
		t.Fatal(err)
	}
	if got.Token.User.Name != "ccm" || got.Token.Project.Name != "ccm" || len(got.Token.Roles) != 1 {
		t.Errorf("token of the trust = %+v, want the trustor in its project with one role", got.Token)
	}
	token := made.Header.Get("X-Subject-Token")
	if r := send(t, cloud, "GET", "/compute/v2.1/servers", "", "X-Auth-Token", token); r.Status != http.StatusOK {
		t.Errorf("a call with the trust's token = %d", r.Status)
	}
	cloud.SetRoles(openstack.UserCCM, openstack.ProjectCCM, openstack.RoleReader)
	if r := send(t, cloud, "GET", "/compute/v2.1/servers", "", "X-Auth-Token", token); r.Status != http.StatusUnauthorized {
		t.Errorf("a call after the trustor lost the role = %d, want 401", r.Status)
	}
	if r := send(t, cloud, "POST", "/identity/v3/auth/tokens", string(body)); r.Status != http.StatusForbidden {
		t.Errorf("a login with a trust without roles = %d, want 403", r.Status)
	}
	cloud.DeleteTrust(trust)
	if r := send(t, cloud, "POST", "/identity/v3/auth/tokens", string(body)); r.Status != http.StatusUnauthorized {
		t.Errorf("a login with a deleted trust = %d, want 401", r.Status)
	}
}

// TestRefusedLogins compares the refusals with those of Keystone.
func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	id, _ := cloud.AddApplicationCredential(openstack.ApplicationCredentialSpec{User: openstack.UserCCM})
	const (
		refused   = "The request you have made requires authentication."
		malformed = " The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error."
	)
	good := `"identity":{"methods":["password"],"password":{"user":{"name":"ccm","domain":{"name":"Default"},"password":"` + openstack.Password("ccm") + `"}}}`
	cases := map[string]struct {
		auth    string
		status  int
		message string
	}{
		"wrong password":              {`"identity":{"methods":["password"],"password":{"user":{"name":"other","domain":{"id":"default"},"password":"x"}}}`, 401, refused},
		"unknown user":                {`"identity":{"methods":["password"],"password":{"user":{"name":"nope","domain":{"id":"default"},"password":"x"}}}`, 401, refused},
		"unknown domain":              {`"identity":{"methods":["password"],"password":{"user":{"name":"ccm","domain":{"id":"nope"},"password":"x"}}}`, 401, refused},
		"no domain of the user":       {`"identity":{"methods":["password"],"password":{"user":{"name":"ccm","password":"x"}}}`, 400, "Expecting to find domain in user." + malformed},
		"unknown project":             {good + `,"scope":{"project":{"name":"nope","domain":{"id":"default"}}}`, 401, refused},
		"project of others":           {good + `,"scope":{"project":{"name":"other","domain":{"id":"default"}}}`, 401, refused},
		"no domain of the project":    {good + `,"scope":{"project":{"name":"ccm"}}`, 400, "Expecting to find domain in project." + malformed},
		"domain without a role":       {good + `,"scope":{"domain":{"name":"Default"}}`, 401, refused},
		"unknown trust":               {good + `,"scope":{"OS-TRUST:trust":{"id":"abc"}}`, 401, refused},
		"no methods":                  {`"identity":{"methods":[]}`, 401, refused},
		"unknown method":              {`"identity":{"methods":["foo"]}`, 401, "Attempted to authenticate with an unsupported method."},
		"method without data":         {`"identity":{"methods":["password"]}`, 400, "Expecting to find password in identity." + malformed},
		"unknown token":               {`"identity":{"methods":["token"],"token":{"id":"abc"}}`, 404, "Could not recognize Fernet token"},
		"unknown credential":          {`"identity":{"methods":["application_credential"],"application_credential":{"id":"abc","secret":"x"}}`, 404, "Could not find Application Credential: abc."},
		"wrong secret":                {`"identity":{"methods":["application_credential"],"application_credential":{"id":"` + id + `","secret":"x"}}`, 401, refused},
		"credential with a scope":     {`"identity":{"methods":["application_credential"],"application_credential":{"id":"` + id + `","secret":"x"}},"scope":{"project":{"id":"x"}}`, 401, "Error authenticating with application credential: Application credentials cannot request a scope."},
		"credential by name, no user": {`"identity":{"methods":["application_credential"],"application_credential":{"name":"ccm","secret":"x"}}`, 400, "Expecting to find user in application credential." + malformed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := send(t, cloud, "POST", "/identity/v3/auth/tokens", `{"auth":{`+tc.auth+`}}`)
			if got.Status != tc.status || got.message() != tc.message {
				t.Errorf("login = %d %q, want %d %q", got.Status, got.message(), tc.status, tc.message)
			}
			if tc.status == 401 && got.Header.Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
		})
	}
}

// TestLockedAccount tries a wrong password until the account is locked, which looks
// like a wrong password even with the right one, until the lock ends.
func TestLockedAccount(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(begin)
	cloud := start(t, openstack.Options{Clock: clock})
	wrong := cloud.AuthOptions(openstack.UserCCM)
	wrong.Password = "wrong"
	for range 5 {
		if _, err := cloud.Connect(t.Context(), wrong); status(err) != http.StatusUnauthorized {
			t.Fatalf("wrong password: %v, want 401", err)
		}
	}
	right := cloud.AuthOptions(openstack.UserCCM)
	clock.SetTime(begin.Add(30*time.Minute - time.Second))
	if _, err := cloud.Connect(t.Context(), right); status(err) != http.StatusUnauthorized || !cloud.Locked(openstack.UserCCM) {
		t.Errorf("right password of a locked account: %v, want 401", err)
	}
	clock.SetTime(begin.Add(30 * time.Minute))
	login(t, cloud, right)
	if _, err := cloud.Connect(t.Context(), wrong); status(err) != http.StatusUnauthorized || cloud.Locked(openstack.UserCCM) {
		t.Error("one failure after the lock must not lock again")
	}
}

// TestCredentialsThatEnd covers what ends an application credential, and that it
// ends the tokens with it.
func TestCredentialsThatEnd(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		end    func(cloud *openstack.Cloud, clock *testingclock.FakePassiveClock, id string)
		login  int
	}{
		"expired": {
			"the time has passed",
			func(_ *openstack.Cloud, clock *testingclock.FakePassiveClock, _ string) {
				clock.SetTime(begin.Add(10 * time.Minute))
			}, 401,
		},
		"deleted": {
			"it is unknown then, which is 404",
			func(cloud *openstack.Cloud, _ *testingclock.FakePassiveClock, id string) {
				cloud.DeleteApplicationCredential(id)
			}, 404,
		},
		"role removed": {
			"Keystone deletes the credentials with the role assignment",
			func(cloud *openstack.Cloud, _ *testingclock.FakePassiveClock, _ string) {
				cloud.SetRoles(openstack.UserCCM, openstack.ProjectCCM, openstack.RoleReader)
			}, 404,
		},
		"user disabled": {
			"credentials live with their user",
			func(cloud *openstack.Cloud, _ *testingclock.FakePassiveClock, _ string) {
				cloud.SetUserEnabled(openstack.UserCCM, false)
			}, 401,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testingclock.NewFakePassiveClock(begin)
			cloud := start(t, openstack.Options{Clock: clock})
			id, secret := cloud.AddApplicationCredential(openstack.ApplicationCredentialSpec{
				User: openstack.UserCCM, Lifetime: 10 * time.Minute,
			})
			options := gophercloud.AuthOptions{
				IdentityEndpoint: cloud.AuthURL(), ApplicationCredentialID: id, ApplicationCredentialSecret: secret,
			}
			nova := compute(t, login(t, cloud, options), "")
			if _, err := servers.List(nova, nil).AllPages(t.Context()); err != nil {
				t.Fatal(err)
			}
			tc.end(cloud, clock, id)
			if _, err := servers.List(nova, nil).AllPages(t.Context()); status(err) != http.StatusUnauthorized {
				t.Errorf("%s: list with the old token: %v, want 401", tc.reason, err)
			}
			if _, err := cloud.Connect(t.Context(), options); status(err) != tc.login {
				t.Errorf("%s: login: %v, want %d", tc.reason, err, tc.login)
			}
		})
	}
}

func TestMultiFactorLoginGetsAReceipt(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	cloud.RequireMFA(openstack.UserCCM)
	body := `{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"ccm","domain":{"id":"default"},"password":"` +
		openstack.Password("ccm") + `"}}}}}`
	got := send(t, cloud, "POST", "/identity/v3/auth/tokens", body)
	var receipt struct {
		Required [][]string `json:"required_auth_methods"`
	}
	if err := json.Unmarshal([]byte(got.Body), &receipt); err != nil {
		t.Fatal(err)
	}
	if got.Status != 401 || got.Header.Get("Openstack-Auth-Receipt") == "" || len(receipt.Required) != 1 {
		t.Errorf("login without the second factor = %d with receipt %q and %s", got.Status, got.Header.Get("Openstack-Auth-Receipt"), got.Body)
	}
}

// TestTokensThatEnd covers expiry, revocation and what happens to a client in the
// middle of a list.
func TestTokensThatEnd(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(begin)
	cloud := start(t, openstack.Options{Clock: clock, PageSize: 2})
	for range 5 {
		cloud.AddServer(openstack.ServerSpec{Name: "node"})
	}
	nova := compute(t, connect(t, cloud, openstack.UserCCM), "")
	// The third page is the first call with a token that is no longer valid.
	cloud.Interceptor().Inject("nova.ListServersDetail", simserver.Nth(3), simserver.Before(func() { cloud.RevokeTokens() }))
	pages, err := servers.List(nova, servers.ListOpts{}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := servers.ExtractServers(pages)
	if err != nil || len(list) != 5 {
		t.Errorf("list = %d servers, %v; want 5", len(list), err)
	}
	if got := cloud.Interceptor().Count("keystone.CreateToken"); got != 2 {
		t.Errorf("%d logins, want 2", got)
	}
	clock.SetTime(begin.Add(time.Hour - time.Second))
	if _, err := servers.Get(t.Context(), nova, list[0].ID).Extract(); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(begin.Add(time.Hour))
	if _, err := servers.Get(t.Context(), nova, list[0].ID).Extract(); err != nil {
		t.Fatal(err)
	}
	if got := cloud.Interceptor().Count("keystone.CreateToken"); got != 3 {
		t.Errorf("%d logins after the token expired, want 3", got)
	}
	if diff := cmp.Diff(map[string]int{}, cloud.Writes()); diff != "" {
		t.Errorf("logins counted as writes:\n%s", diff)
	}
}

// TestBadTokenIsRefusedByEveryService expects the same response from all.
func TestBadTokenIsRefusedByEveryService(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	cases := map[string]string{"nova": "/compute/v2.1/servers", "keystone": "/identity/v3/auth/tokens"}
	for name, path := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := send(t, cloud, "GET", path, "", "X-Auth-Token", "wrong")
			if got.Status != 401 || got.message() != "The request you have made requires authentication." || got.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("GET %s = %d %s", path, got.Status, got.Body)
			}
		})
	}
}

// TestShownTokens validates and revokes tokens by the API.
func TestShownTokens(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	client := connect(t, cloud, openstack.UserCCM)
	own, other := client.Token(), connect(t, cloud, openstack.UserOther).Token()
	const path = "/identity/v3/auth/tokens"
	steps := []struct {
		method, token, subject string
		status                 int
	}{
		{"GET", own, own, 200},
		{"HEAD", own, own, 200},
		{"GET", own, other, 403},
		{"GET", connect(t, cloud, openstack.UserAdmin).Token(), other, 200},
		{"GET", own, "abc", 404},
		{"GET", own, "", 403},
		{"DELETE", own, other, 403},
		{"DELETE", other, other, 204},
		{"GET", own, other, 404},
		{"GET", other, own, 401},
		{"PUT", own, own, 405},
	}
	for _, step := range steps {
		if got := send(t, cloud, step.method, path, "", "X-Auth-Token", step.token, "X-Subject-Token", step.subject); got.Status != step.status {
			t.Errorf("%s = %d, want %d: %s", step.method, got.Status, step.status, got.Body)
		}
	}
	if _, err := tokens.Get(t.Context(), identity(t, client), own).ExtractServiceCatalog(); err != nil {
		t.Error(err)
	}
}
