package openstack

import (
	"context"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// clientCredentials makes the credentials of the cloud-config those of a client.
type clientCredentials struct {
	credential.Source[credentials]
}

var _ client.Source = clientCredentials{}

// Lookup implements credential.Source. All of them are in one cloud-config, under one
// name.
func (c clientCredentials) Lookup(ctx context.Context, _ string) (client.Credentials, error) {
	found, err := c.Source.Lookup(ctx, credentialsName)
	if err != nil {
		return client.Credentials{}, err
	}

	return client.Credentials{
		UserID: found.UserID, Username: found.Username,
		UserDomainID: found.UserDomainID, UserDomainName: found.UserDomainName,
		Password:                    found.Password,
		ApplicationCredentialID:     found.ApplicationCredentialID,
		ApplicationCredentialName:   found.ApplicationCredentialName,
		ApplicationCredentialSecret: found.ApplicationCredentialSecret,
		Token:                       found.Token,
		TrustID:                     found.TrustID,
		ProjectID:                   found.ProjectID, ProjectName: found.ProjectName,
		ProjectDomainID: found.ProjectDomainID, ProjectDomainName: found.ProjectDomainName,
	}, nil
}
