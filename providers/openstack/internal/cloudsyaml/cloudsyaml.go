// Package cloudsyaml reads one cloud of the files clouds.yaml, secure.yaml and
// clouds-public.yaml, which the clients of OpenStack share.
//
// What it promises:
//
//   - It reads only the files of [Places], by the function that it is given. No
//     variable of the environment has an influence.
//   - The file clouds-public.yaml has the lowest precedence, secure.yaml the highest.
//     An empty value counts as not set.
//   - Keys that are not in [Key] are ignored, whatever their values are. Those of auth are listed.
//   - No error contains a value.
//
// The format is described in the user guide of openstacksdk,
// https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html.
package cloudsyaml

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// Key is the name of a value of a cloud, with the mapping that it is in.
type Key string

// The keys that are read.
const (
	AuthURL                     Key = "auth.auth_url"
	Username                    Key = "auth.username"
	UserID                      Key = "auth.user_id"
	Password                    Key = "auth.password"
	ProjectID                   Key = "auth.project_id"
	ProjectName                 Key = "auth.project_name"
	DomainID                    Key = "auth.domain_id"
	DomainName                  Key = "auth.domain_name"
	DefaultDomain               Key = "auth.default_domain"
	ProjectDomainID             Key = "auth.project_domain_id"
	ProjectDomainName           Key = "auth.project_domain_name"
	UserDomainID                Key = "auth.user_domain_id"
	UserDomainName              Key = "auth.user_domain_name"
	TrustID                     Key = "auth.trust_id"
	ApplicationCredentialID     Key = "auth.application_credential_id"
	ApplicationCredentialName   Key = "auth.application_credential_name"
	ApplicationCredentialSecret Key = "auth.application_credential_secret"
	Token                       Key = "auth.token"
	AuthType                    Key = "auth_type"
	RegionName                  Key = "region_name"
	EndpointType                Key = "endpoint_type"
	Interface                   Key = "interface"
	Verify                      Key = "verify"
	CACert                      Key = "cacert"
	Cert                        Key = "cert"
	ClientKey                   Key = "key"

	// Two names of an entry of clouds-public.yaml, of which profile takes
	// precedence.
	profile     Key = "profile"
	publicCloud Key = "cloud"
)

// keys lists all keys.
func keys() []Key {
	return []Key{
		AuthURL, Username, UserID, Password, ProjectID, ProjectName, DomainID, DomainName, DefaultDomain,
		ProjectDomainID, ProjectDomainName, UserDomainID, UserDomainName, TrustID,
		ApplicationCredentialID, ApplicationCredentialName, ApplicationCredentialSecret, Token,
		AuthType, RegionName, EndpointType, Interface, Verify, CACert, Cert, ClientKey,
		profile, publicCloud,
	}
}

// Value is what a file has for a key.
type Value struct {
	Text config.Secret
	// Path and Line are where it is.
	Path string
	Line int
}

// At formats the place of the value as file:line.
func (v Value) At() string { return fmt.Sprintf("%s:%d", v.Path, v.Line) }

// Cloud is one cloud.
type Cloud struct {
	// Name is the name of the cloud.
	Name string
	// Path is the file that has the cloud. It is secure.yaml only if clouds.yaml does
	// not have it.
	Path string
	// Line is where the cloud is in that file.
	Line int
	// Values has the values that are not empty.
	Values map[Key]Value
	// Unknown are the names of the keys of auth that are not read, with their places.
	Unknown []Value
}

// At formats the place of the cloud as file:line.
func (c *Cloud) At() string { return fmt.Sprintf("%s:%d", c.Path, c.Line) }

// Text returns the value of a key, empty if there is none.
func (c *Cloud) Text(key Key) string { return c.Values[key].Text.Reveal() }

// Insecure reports whether the certificates of the cloud are not verified. The word
// has been checked by [Load].
func (c *Cloud) Insecure() bool {
	verify, err := parseBool(c.Text(Verify))

	return err == nil && !verify && c.Text(Verify) != ""
}

// Load reads the cloud of this name. Without a name, it reads the only cloud of
// clouds.yaml, or else of secure.yaml. The error wraps [fs.ErrNotExist] if there is no
// file.
func Load(places Places, name string, read Reader) (*Cloud, error) {
	clouds, err := places.open(cloudsFile, read)
	if err != nil {
		return nil, err
	}
	secure, err := places.open(secureFile, read)
	if err != nil {
		return nil, err
	}
	if clouds == nil && secure == nil {
		return nil, fmt.Errorf("no clouds.yaml exists, looked for %s: %w", strings.Join(places.paths(cloudsFile), ", "), fs.ErrNotExist)
	}
	if name, err = choose(name, clouds, secure); err != nil {
		return nil, err
	}
	cloud := &Cloud{Name: name, Values: map[Key]Value{}}
	for _, d := range []*document{clouds, secure} {
		if err := cloud.merge(d, name); err != nil {
			return nil, err
		}
	}
	if err := cloud.addProfile(places, read); err != nil {
		return nil, err
	}

	return cloud, cloud.check()
}

// choose returns the name of the cloud to read.
func choose(name string, clouds, secure *document) (string, error) {
	known := slices.Sorted(maps.Keys(union(clouds, secure)))
	if name != "" {
		if slices.Contains(known, name) {
			return name, nil
		}

		return "", fmt.Errorf("%s: no cloud %q, known are: %s", cmp.Or(clouds, secure).path, name, strings.Join(known, ", "))
	}
	for _, d := range []*document{clouds, secure} {
		if d != nil && len(d.entries) == 1 {
			return slices.Collect(maps.Keys(d.entries))[0], nil
		}
		if d != nil && len(d.entries) > 1 {
			return "", fmt.Errorf("%s: it has several clouds and none is selected, known are: %s", d.path, strings.Join(known, ", "))
		}
	}

	return "", fmt.Errorf("%s: it has no cloud", cmp.Or(clouds, secure).path)
}

// merge takes over what a file has for the cloud, in place of what is there already.
func (c *Cloud) merge(d *document, name string) error {
	if d == nil || d.entries[name] == nil {
		return nil
	}
	values, unknown, err := d.values(name, d.entries[name])
	if err != nil {
		return err
	}
	if c.Path == "" {
		c.Path, c.Line = d.path, d.entries[name].Line
	}
	maps.Copy(c.Values, values)
	c.Unknown = append(c.Unknown, unknown...)

	return nil
}

// addProfile takes over what clouds-public.yaml has for the profile of the cloud.
func (c *Cloud) addProfile(places Places, read Reader) error {
	value, ok := c.Values[profile]
	if !ok {
		if value, ok = c.Values[publicCloud]; !ok {
			return nil
		}
	}
	name := value.Text.Reveal()
	public, err := places.open(publicFile, read)
	switch {
	case err != nil:
		return err
	case public == nil:
		return fmt.Errorf("%s: no clouds-public.yaml exists with the profile %q, looked for %s: %w",
			value.At(), name, strings.Join(places.paths(publicFile), ", "), fs.ErrNotExist)
	case public.entries[name] == nil:
		return fmt.Errorf("%s: %s has no profile %q", value.At(), public.path, name)
	}
	values, unknown, err := public.values(name, public.entries[name])
	if err != nil {
		return err
	}
	maps.Copy(values, c.Values)
	c.Values, c.Unknown = values, append(c.Unknown, unknown...)

	return nil
}

// check returns an error if a value cannot be used.
func (c *Cloud) check() error {
	if verify, ok := c.Values[Verify]; ok {
		if _, err := parseBool(verify.Text.Reveal()); err != nil {
			return fmt.Errorf("%s: cloud %q: %s %w", verify.At(), c.Name, Verify, err)
		}
	}

	return nil
}

// parseBool reads the words that YAML 1.1 has for a boolean.
func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "y", "1":
		return true, nil
	case "false", "no", "off", "n", "0", "":
		return false, nil
	default:
		return false, fmt.Errorf("must be true or false")
	}
}
