// Package openstackservices reaches real OpenStack services in tests, as a user beside the
// controller manager does.
//
// What it promises: nothing is made or changed by it. The services are those of the
// cloud.conf in the directory that the environment variable OPENSTACK_DIR names, with a
// password or an application credential.
package openstackservices

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// Directory is the environment variable with the directory of the cloud.conf.
const Directory = "OPENSTACK_DIR"

// Config is what tests read from the cloud.conf.
type Config struct {
	Global struct {
		AuthURL                     string        `gcfg:"auth-url"`
		Region                      string        `gcfg:"region"`
		ApplicationCredentialID     string        `gcfg:"application-credential-id"`
		ApplicationCredentialSecret config.Secret `gcfg:"application-credential-secret"`
		UserID                      string        `gcfg:"user-id"`
		Username                    string        `gcfg:"username"`
		Password                    config.Secret `gcfg:"password"`
		DomainID                    string        `gcfg:"domain-id"`
		DomainName                  string        `gcfg:"domain-name"`
		TenantID                    string        `gcfg:"tenant-id"`
		TenantName                  string        `gcfg:"tenant-name"`
	}
	LoadBalancer struct {
		FloatingNetworkID string `gcfg:"floating-network-id"`
		NetworkID         string `gcfg:"network-id"`
	}
	Route struct {
		RouterID string `gcfg:"router-id"`
	}
}

// Services are OpenStack services in which a user is logged in.
type Services struct {
	// Text is the cloud.conf.
	Text   string
	Config Config
	// Compute has microversion 2.47, in which servers have the names of their flavors.
	Compute, Network, LoadBalancer *gophercloud.ServiceClient

	transport *http.Transport
}

// Close closes the connections. It waits for no request.
func (s *Services) Close() { s.transport.CloseIdleConnections() }

// Connect logs in. The caller closes the services.
func Connect(ctx context.Context) (*Services, error) {
	path := filepath.Join(os.Getenv(Directory), "cloud.conf")
	text, err := os.ReadFile(path) //nolint:gosec // the directory is that of the test
	if err != nil {
		return nil, fmt.Errorf("%s must have the cloud.conf of a project with servers: %w", Directory, err)
	}
	file, err := config.Parse(path, text)
	if err != nil {
		return nil, err
	}
	s := &Services{Text: string(text), transport: http.DefaultTransport.(*http.Transport).Clone()}
	file.Decode(config.Schema{}, &s.Config) // other keys are for the controller manager
	g := s.Config.Global
	user, err := openstack.NewClient(g.AuthURL)
	if err != nil {
		return nil, err
	}
	user.HTTPClient.Transport = s.transport
	err = openstack.Authenticate(ctx, user, gophercloud.AuthOptions{
		IdentityEndpoint: g.AuthURL, AllowReauth: true,
		ApplicationCredentialID: g.ApplicationCredentialID, ApplicationCredentialSecret: string(g.ApplicationCredentialSecret),
		UserID: g.UserID, Username: g.Username, Password: string(g.Password),
		DomainID: g.DomainID, DomainName: g.DomainName, TenantID: g.TenantID, TenantName: g.TenantName,
	})
	if err != nil {
		return nil, fmt.Errorf("log in to %s: %w", g.AuthURL, err)
	}
	region := gophercloud.EndpointOpts{Region: g.Region}
	if s.Compute, err = openstack.NewComputeV2(user, region); err != nil {
		return nil, err
	}
	s.Compute.Microversion = "2.47"
	if s.Network, err = openstack.NewNetworkV2(user, region); err != nil {
		return nil, err
	}
	s.LoadBalancer, err = openstack.NewLoadBalancerV2(user, region)

	return s, err
}
