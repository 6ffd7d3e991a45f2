package openstack

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
)

// AuthOptions returns the options of gophercloud to log in as a user, with its
// first password and in its project. Tokens are renewed.
func (c *Cloud) AuthOptions(user string) gophercloud.AuthOptions {
	options := gophercloud.AuthOptions{
		IdentityEndpoint: c.AuthURL(), Username: user, Password: Password(user),
		DomainID: defaultDomain, AllowReauth: true,
	}
	c.inspect(func() { options.TenantID = c.keystone.user(user).projectID })

	return options
}

// Connect logs in with gophercloud, by a [Cloud.HTTPClient] of its own.
func (c *Cloud) Connect(ctx context.Context, options gophercloud.AuthOptions) (*gophercloud.ProviderClient, error) {
	client, err := gopheropenstack.NewClient(options.IdentityEndpoint)
	if err != nil {
		return nil, err
	}
	client.HTTPClient = *c.HTTPClient()
	if err := gopheropenstack.Authenticate(ctx, client, options); err != nil {
		client.HTTPClient.CloseIdleConnections()

		return nil, err
	}

	return client, nil
}

// Environment returns the variables that lead the openstack command line here as a
// user, in the form NAME=value.
func (c *Cloud) Environment(user string) []string {
	var project string
	c.inspect(func() { project = c.keystone.projectName(c.keystone.user(user).projectID) })

	return []string{
		"OS_AUTH_URL=" + c.AuthURL(), "OS_IDENTITY_API_VERSION=3", "OS_REGION_NAME=" + c.opts.Regions[0],
		"OS_USERNAME=" + user, "OS_PASSWORD=" + Password(user), "OS_PROJECT_NAME=" + project,
		"OS_USER_DOMAIN_ID=" + defaultDomain, "OS_PROJECT_DOMAIN_ID=" + defaultDomain,
	}
}
