package openstack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/nodes"
)

// clientConfig returns what a client of the cloud is made with, apart from credentials
// and flags.
func (c *Config) clientConfig() client.Config {
	g := c.Global
	settings := client.TLS{CAFile: g.CAFile, Insecure: g.TLSInsecure == "true"}
	if g.CAFile == "" {
		settings.CAPEM = string(g.CAFileContents)
	}
	if g.CertFile != "" && g.KeyFile != "" {
		settings.CertFile, settings.KeyFile = g.CertFile, g.KeyFile
	}

	return client.Config{
		AuthURL: string(g.AuthURL), Region: g.Region, EndpointType: string(g.EndpointType),
		TLS: settings, Timeout: time.Duration(c.Metadata.RequestTimeout),
	}
}

// nodesConfig returns what the source of Nodes is made with.
func (c *Config) nodesConfig() nodes.Config {
	n := c.Networking

	return nodes.Config{
		Region: c.Global.Region, Regional: c.regional,
		Addresses: nodes.AddressRules{
			IPv6Disabled: n.IPv6SupportDisabled, Public: n.PublicNetworkName, Internal: n.InternalNetworkName, Order: c.sortOrder,
		},
	}
}

// credentialSource returns the source of the credentials of a cloud-config that decoded
// to cfg. They are read again after each change of the cloud-config and of clouds.yaml,
// as long as run does, which is nil if the cloud-config is not from a file.
func credentialSource(file *config.File, cfg *Config, env environment) (source credential.Source[client.Credentials], run func(context.Context)) {
	paths := credentialPaths(file, cfg, env)
	if !slices.Contains(paths, file.Path) {
		return credential.NewInFile(cfg.login, nil), nil
	}
	files := credential.NewFiles(paths, parseCredentials(file.Path, cfg.Global.AuthURL, env))
	// The cloud-config can have become invalid since: a standby reads it once it leads.
	files.Preset(map[string]client.Credentials{client.CredentialsName: cfg.login})

	return files, files.Run
}

// credentialPaths lists the files that determine the credentials: those that can be
// read, and those that may appear.
func credentialPaths(file *config.File, cfg *Config, env environment) []string {
	var paths []string
	if !file.ReadOnce() {
		// The path of a cloud-config that is not from a file is only a word. A file can have
		// changed since it was decoded.
		if data, err := env.readFile(file.Path); err == nil && (filepath.IsAbs(file.Path) || file.Same(data)) {
			paths = append(paths, file.Path)
		}
	}
	if g := &cfg.Global; g.UseClouds || g.Cloud != "" {
		for _, path := range env.places(g).Paths() {
			if _, err := env.readFile(path); err == nil || errors.Is(err, fs.ErrNotExist) {
				paths = append(paths, path)
			}
		}
	}

	return paths
}

// parseCredentials returns the function that reads the credentials of the cloud-config
// at this path. A cloud-config with another URL of Keystone is an error: the process was
// started for this one, which must not get the credentials of another cloud.
func parseCredentials(path string, authURL URL, env environment) credential.Parse[client.Credentials] {
	return func(data map[string][]byte) (map[string]client.Credentials, error) {
		env := env
		data = maps.Clone(data)
		env.readFile = func(path string) ([]byte, error) {
			if content, ok := data[path]; ok {
				return content, nil
			}

			return nil, fs.ErrNotExist
		}
		content, err := env.readFile(path)
		if err != nil {
			return nil, fmt.Errorf("read cloud-config %s: %w", path, err)
		}
		file, err := config.Parse(path, content)
		if err != nil {
			return nil, err
		}
		cfg, err := decodeCredentials(file, env)
		if err != nil {
			return nil, err
		}
		if cfg.Global.AuthURL != authURL {
			return nil, fmt.Errorf("%s: %s has changed: restart the controller manager", path, globalName("auth-url"))
		}

		return map[string]client.Credentials{client.CredentialsName: cfg.login}, nil
	}
}

// decodeCredentials reads a cloud-config, without the checks that have nothing to do
// with credentials.
func decodeCredentials(file *config.File, env environment) (*Config, error) {
	r := newResolver(file, env)
	if r.readable() {
		r.Decode(ProviderName, r.config)
		if r.applyClouds() {
			r.chooseCredentials()
		}
	}

	return r.config, r.Finish().Err()
}
