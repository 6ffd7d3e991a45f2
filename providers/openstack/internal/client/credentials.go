package client

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
)

// CredentialsName is the name under which a [Source] has the credentials of the cloud.
const CredentialsName = "openstack"

// Source has the credentials, which may change.
type Source = credential.Source[Credentials]

// Credentials are what a login sends. Which of them are set selects the method, in this
// order: a password, an application credential, a token. Domains are
// complete: defaults have been put in.
type Credentials struct {
	// UserID or Username, with a domain, is the user of a password, and of an
	// application credential that is given by its name. With a trust it is the trustee.
	UserID, Username             string
	UserDomainID, UserDomainName string
	Password                     config.Secret
	// ApplicationCredentialID or ApplicationCredentialName, with a user, and its secret.
	ApplicationCredentialID     string
	ApplicationCredentialName   string
	ApplicationCredentialSecret config.Secret
	// Token is a token that cannot be renewed. Without a scope it is used as it is.
	Token config.Secret
	// TrustID is the trust that is the scope, instead of a project.
	TrustID string
	// ProjectID or ProjectName, with a domain, is the scope. A project ID needs no
	// domain. An application credential has a project of its own.
	ProjectID, ProjectName             string
	ProjectDomainID, ProjectDomainName string
	// DomainID or DomainName is the scope if there is neither a trust nor a project.
	// Such a login is refused, since it leads to no project.
	DomainID, DomainName string
}

// isPassword reports whether the credentials are a password.
func (c Credentials) isPassword() bool { return c.Password != "" }

// isApplicationCredential reports whether the credentials are an application credential.
func (c Credentials) isApplicationCredential() bool {
	return !c.isPassword() && (c.ApplicationCredentialID != "" || c.ApplicationCredentialName != "")
}

// isToken reports whether the credentials are a token.
func (c Credentials) isToken() bool {
	return !c.isPassword() && !c.isApplicationCredential() && c.Token != ""
}

// String names who logs in, without secrets.
func (c Credentials) String() string {
	switch {
	case c.isApplicationCredential():
		return "application credential " + cmp.Or(c.ApplicationCredentialID, c.ApplicationCredentialName)
	case c.isToken():
		return "a token"
	}

	return fmt.Sprintf("user %q", cmp.Or(c.UserID, c.Username))
}

// isScoped reports whether a login requests a scope.
func (c Credentials) isScoped() bool {
	return c.TrustID+c.ProjectID+c.ProjectName+c.DomainID+c.DomainName != ""
}

// account identifies the user of a password.
func (c Credentials) account() string {
	if c.UserID != "" {
		return strings.ToLower(c.UserID)
	}

	return strings.ToLower(c.Username + "@" + cmp.Or(c.UserDomainID, c.UserDomainName))
}

// scopeKey identifies what the token of a login is for.
func (c Credentials) scopeKey() string {
	return strings.Join([]string{
		c.TrustID, c.ProjectID, c.ProjectName, c.ProjectDomainID, c.ProjectDomainName, c.DomainID, c.DomainName,
	}, "\n")
}
