package client

import (
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
