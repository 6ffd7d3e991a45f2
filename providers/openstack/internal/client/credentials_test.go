package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// All kinds of credentials lead to the project; what is wrong with them is said.
func TestCredentials(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{})
	project := f.ProjectID(openstack.ProjectCCM)
	right := f.Credentials(openstack.UserCCM)
	id, secret := f.AddApplicationCredential(openstack.ApplicationCredentialSpec{User: openstack.UserCCM, Name: "cluster"})
	trust := f.AddTrust(openstack.UserCCM, openstack.UserOther, openstack.ProjectCCM, openstack.RoleMember)
	f.AddUser("mfa", openstack.ProjectCCM, openstack.RoleMember)
	f.RequireMFA("mfa")
	token := issueToken(t, f)
	cases := map[string]struct {
		reason string
		from   client.Credentials
		want   error
		text   string
	}{
		"Password": {"a user name with its domain", right, nil, ""},
		"UserID": {"an ID needs no domain", client.Credentials{
			UserID: f.UserID(openstack.UserCCM), Password: right.Password, ProjectID: project,
		}, nil, ""},
		"ProjectName": {"a project name with its domain", client.Credentials{
			Username: openstack.UserCCM, UserDomainName: "Default", Password: right.Password,
			ProjectName: openstack.ProjectCCM, ProjectDomainName: "Default",
		}, nil, ""},
		"ApplicationCredential": {"it has a project of its own", client.Credentials{
			ApplicationCredentialID: id, ApplicationCredentialSecret: secretOf(secret),
		}, nil, ""},
		"ApplicationCredentialName": {"with its user", client.Credentials{
			ApplicationCredentialName: "cluster", Username: openstack.UserCCM, UserDomainID: "default",
			ApplicationCredentialSecret: secretOf(secret),
		}, nil, ""},
		"ApplicationCredentialWithProject": {"a scope is not sent with it", client.Credentials{
			ApplicationCredentialID: id, ApplicationCredentialSecret: secretOf(secret), ProjectID: project,
		}, nil, ""},
		"Trust": {"the trustee acts in the project of the trust", client.Credentials{
			UserID: f.UserID(openstack.UserOther), Password: secretOf(openstack.Password(openstack.UserOther)), TrustID: trust,
		}, nil, ""},
		"Token":       {"a token with a scope", client.Credentials{Token: secretOf(token), ProjectID: project}, nil, ""},
		"TokenAsItIs": {"a token without a scope is used as it is", client.Credentials{Token: secretOf(token)}, nil, ""},

		"NoProject": {"a token for no project is refused", client.Credentials{
			UserID: f.UserID(openstack.UserAdmin), Password: secretOf(openstack.Password(openstack.UserAdmin)), DomainID: "default",
		}, apierr.ErrDenied, ""},
		"WrongPassword": {"a wrong password", f.wrong("wrong"), apierr.ErrDenied, "account is locked"},
		"WrongSecret": {"a wrong secret of an application credential", client.Credentials{
			ApplicationCredentialID: id, ApplicationCredentialSecret: "wrong",
		}, apierr.ErrDenied, "application credential is wrong"},
		"DeletedCredential": {"an application credential that does not exist", client.Credentials{
			ApplicationCredentialID: strings.Repeat("0", 32), ApplicationCredentialSecret: "x",
		}, apierr.ErrDenied, "application credential is wrong"},
		"MFA": {"a user that needs more methods", client.Credentials{
			Username: "mfa", UserDomainID: "default", Password: secretOf(openstack.Password("mfa")), ProjectID: project,
		}, apierr.ErrDenied, "further authentication methods"},
		"WrongToken": {"a token that has ended", client.Credentials{Token: "gone", ProjectID: project}, apierr.ErrDenied, "cannot be renewed"},
		"Incomplete": {"a user name without a domain", client.Credentials{
			Username: openstack.UserCCM, Password: right.Password, ProjectID: project,
		}, apierr.ErrInvalid, "incomplete"},
		"None": {"nothing at all", client.Credentials{}, apierr.ErrInvalid, "incomplete"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := f.open(t, credential.NewInFile(tc.from, nil))
			got, err := c.Project(bounded(t))
			if tc.want == nil {
				if err != nil || got != project {
					t.Errorf("%s: Project() = %q, %v, want %q", tc.reason, got, err, project)
				}

				return
			}
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%s: Project() = %v, want %v with %q", tc.reason, err, tc.want, tc.text)
			}
		})
	}
}
