package openstack_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/catalog"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestCatalogOfToken reads the catalog of a token, which one without a scope has not.
func TestCatalogOfToken(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	pages, err := catalog.List(identity(t, connect(t, cloud, openstack.UserCCM))).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := catalog.ExtractServiceCatalog(pages)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range entries {
		kinds = append(kinds, e.Type)
	}
	slices.Sort(kinds)
	if diff := cmp.Diff([]string{"compute", "identity", "image", "key-manager", "load-balancer", "network"}, kinds); diff != "" {
		t.Errorf("services of the catalog (-want +got):\n%s", diff)
	}

	cloud.SetDefaultProject(openstack.UserCCM, "")
	options := cloud.AuthOptions(openstack.UserCCM)
	options.TenantID, options.TenantName, options.Scope = "", "", nil
	client := login(t, cloud, options)
	unscoped := &gophercloud.ServiceClient{ProviderClient: client, Endpoint: cloud.AuthURL() + "/"}
	if _, err := catalog.List(unscoped).AllPages(t.Context()); status(err) != 403 {
		t.Errorf("catalog of a token without a scope: %v, want 403", err)
	}
}

// TestOwnApplicationCredentials creates and lists them, and logs in with a new one.
func TestOwnApplicationCredentials(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{StaleReads: new(openstack.StaleReads)}) // each write is read back at once
	client := identity(t, connect(t, cloud, openstack.UserCCM))
	ccm := cloud.UserID(openstack.UserCCM)
	made, err := applicationcredentials.Create(t.Context(), client, ccm, applicationcredentials.CreateOpts{
		Name: "second", Roles: []applicationcredentials.Role{{Name: openstack.RoleReader}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason, user string
		opts         applicationcredentials.CreateOpts
		status       int
	}{
		"same name":    {"names are unique for a user", ccm, applicationcredentials.CreateOpts{Name: "second"}, 409},
		"other role":   {"the caller does not have it", ccm, applicationcredentials.CreateOpts{Name: "x", Roles: []applicationcredentials.Role{{Name: openstack.RoleAdmin}}}, 404},
		"another user": {"", cloud.UserID(openstack.UserOther), applicationcredentials.CreateOpts{Name: "x"}, 403},
	} {
		if err := applicationcredentials.Create(t.Context(), client, tc.user, tc.opts).Err; status(err) != tc.status {
			t.Errorf("%s: %s: %v, want %d", name, tc.reason, err, tc.status)
		}
	}
	pages, err := applicationcredentials.List(client, ccm, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all, err := applicationcredentials.ExtractApplicationCredentials(pages); err != nil || len(all) != 1 || all[0].ID != made.ID || all[0].Secret != "" {
		t.Errorf("application credentials: %+v, %v; want %s without its secret", all, err, made.ID)
	}
	login(t, cloud, gophercloud.AuthOptions{
		IdentityEndpoint: cloud.AuthURL(), ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret,
	})
}

// TestProjectsAndUsers has who may read projects and users.
func TestProjectsAndUsers(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	ccm, admin := identity(t, connect(t, cloud, openstack.UserCCM)), identity(t, connect(t, cloud, openstack.UserAdmin))
	project := cloud.ProjectID(openstack.ProjectCCM)
	if p, err := projects.Get(t.Context(), ccm, project).Extract(); err != nil || p.Name != openstack.ProjectCCM {
		t.Errorf("own project: %+v, %v", p, err)
	}
	if err := projects.Get(t.Context(), ccm, cloud.ProjectID(openstack.ProjectOther)).Err; status(err) != 403 {
		t.Errorf("another project: %v, want 403", err)
	}
	if err := projects.Get(t.Context(), admin, "0a").Err; status(err) != 404 {
		t.Errorf("unknown project: %v, want 404", err)
	}
	pages, err := projects.ListAvailable(ccm).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all, err := projects.ExtractProjects(pages); err != nil || len(all) != 1 || all[0].ID != project {
		t.Errorf("projects of the user: %+v, %v; want %s", all, err, project)
	}
	if _, err := users.List(ccm, nil).AllPages(t.Context()); status(err) != 403 {
		t.Errorf("users: %v, want 403", err)
	}
	if pages, err = users.List(admin, users.ListOpts{Name: openstack.UserOther}).AllPages(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, err := users.ExtractUsers(pages); err != nil || len(all) != 1 || all[0].ID != cloud.UserID(openstack.UserOther) {
		t.Errorf("users by name: %+v, %v", all, err)
	}
}
