package openstack

import (
	"maps"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/cloudsyaml"
)

// cloudKey is a value of clouds.yaml and the key of [Global] that takes it.
type cloudKey struct {
	from  cloudsyaml.Key
	name  string
	value func(*Global) string
}

// cloudKeys lists what clouds.yaml sets. Where several values set one key, the first
// takes precedence.
func cloudKeys() []cloudKey {
	return []cloudKey{
		{cloudsyaml.AuthURL, "auth-url", func(g *Global) string { return string(g.AuthURL) }},
		{cloudsyaml.UserID, "user-id", func(g *Global) string { return g.UserID }},
		{cloudsyaml.Username, "username", func(g *Global) string { return g.Username }},
		{cloudsyaml.Password, "password", func(g *Global) string { return g.Password.Reveal() }},
		{cloudsyaml.ProjectID, "tenant-id", func(g *Global) string { return g.TenantID }},
		{cloudsyaml.ProjectName, "tenant-name", func(g *Global) string { return g.TenantName }},
		{cloudsyaml.DomainID, "domain-id", func(g *Global) string { return g.DomainID }},
		{cloudsyaml.DomainName, "domain-name", func(g *Global) string { return g.DomainName }},
		{cloudsyaml.ProjectDomainID, "tenant-domain-id", func(g *Global) string { return g.TenantDomainID }},
		{cloudsyaml.ProjectDomainName, "tenant-domain-name", func(g *Global) string { return g.TenantDomainName }},
		{cloudsyaml.UserDomainID, "user-domain-id", func(g *Global) string { return g.UserDomainID }},
		{cloudsyaml.UserDomainName, "user-domain-name", func(g *Global) string { return g.UserDomainName }},
		{cloudsyaml.TrustID, "trust-id", func(g *Global) string { return g.TrustID }},
		{cloudsyaml.ApplicationCredentialID, "application-credential-id", func(g *Global) string { return g.ApplicationCredentialID }},
		{cloudsyaml.ApplicationCredentialName, "application-credential-name", func(g *Global) string { return g.ApplicationCredentialName }},
		{cloudsyaml.ApplicationCredentialSecret, "application-credential-secret", func(g *Global) string { return g.ApplicationCredentialSecret.Reveal() }},
		{cloudsyaml.Token, "token", func(g *Global) string { return g.Token.Reveal() }},
		{cloudsyaml.RegionName, "region", func(g *Global) string { return g.Region }},
		{cloudsyaml.EndpointType, "os-endpoint-type", func(g *Global) string { return string(g.EndpointType) }},
		{cloudsyaml.Interface, "os-endpoint-type", func(g *Global) string { return string(g.EndpointType) }},
		{cloudsyaml.CACert, "ca-file", func(g *Global) string { return g.CAFile }},
		{cloudsyaml.Cert, "cert-file", func(g *Global) string { return g.CertFile }},
		{cloudsyaml.ClientKey, "key-file", func(g *Global) string { return g.KeyFile }},
	}
}

// applyClouds fills in the keys of [Global] that are not set from clouds.yaml. It
// reports whether all that the file has is known then.
func (r *resolver) applyClouds() bool {
	g := &r.config.Global
	if !g.UseClouds && g.Cloud == "" {
		if g.CloudsFile != "" {
			r.warnf("clouds-file", "is ignored without use-clouds")
		}

		return true
	}
	if r.env.readFile == nil {
		r.note("credentials are not checked: clouds.yaml, which may have them, is not opened")

		return false
	}
	name, key := g.Cloud, "cloud"
	if name == "" {
		name, key = r.env.variables[variableCloud], "use-clouds"
	}
	places := r.env.places(g)
	cloud, err := cloudsyaml.Load(places, name, r.env.readFile)
	if err != nil {
		r.errorf(key, "%v", err)

		return false
	}
	if first := places.File; first != "" && cloud.Path != first {
		r.warnOtherFile(first, cloud.Path)
	}
	r.cloud = cloud
	for _, unknown := range cloud.Unknown {
		r.Problems.Warnf(config.Position{Path: unknown.At()}, "cloud %q: %s is unknown and has no effect", cloud.Name, unknown.Text.Reveal())
	}
	if !r.checkAuthType(cloud) {
		return false
	}
	r.take(cloud)

	return true
}

// warnOtherFile warns that the cloud is not from the file that is named.
func (r *resolver) warnOtherFile(named, used string) {
	const text = "%s does not exist or does not have the cloud: the one of %s is used"
	if r.config.Global.CloudsFile != "" {
		r.warnf("clouds-file", text, named, used)

		return
	}
	r.Problems.Warnf(config.Position{}, "environment "+variableCloudsFile+": "+text, named, used)
}

// take takes over the values of a cloud.
func (r *resolver) take(cloud *cloudsyaml.Cloud) {
	g := &r.config.Global
	unused := otherMethods(cloud)
	maps.Copy(unused, otherDomains(g))
	for _, key := range cloudKeys() {
		value, ok := cloud.Values[key.from]
		if !ok || key.value(g) != "" || unused[key.from] {
			continue
		}
		r.set(key.name, value.Text.Reveal(), value.At())
	}
	if g.TLSInsecure == "" && cloud.Insecure() {
		r.set("tls-insecure", "true", cloud.Values[cloudsyaml.Verify].At())
		r.warnf("tls-insecure", "it is false: the certificates of servers are not verified")
	}
	r.takeDefaultDomain(cloud)
}

// takeDefaultDomain sets the domain of a user, and of a project, that has none. Like
// other clients of OpenStack, it takes the value for an ID.
func (r *resolver) takeDefaultDomain(cloud *cloudsyaml.Cloud) {
	g := &r.config.Global
	value, ok := cloud.Values[cloudsyaml.DefaultDomain]
	if !ok || g.DomainID != "" || g.DomainName != "" {
		return
	}
	if g.Username != "" && g.UserDomainID == "" && g.UserDomainName == "" {
		r.set("user-domain-id", value.Text.Reveal(), value.At())
	}
	if g.TenantName != "" && g.TenantDomainID == "" && g.TenantDomainName == "" {
		r.set("tenant-domain-id", value.Text.Reveal(), value.At())
	}
}

// set sets a key of [Global] to the value at a place of clouds.yaml.
func (r *resolver) set(key, text, at string) {
	name := globalName(key)
	r.Origins[name] = at
	if err := config.Set(r.config, name, text); err != nil {
		r.errorf(key, "%v", err)
	}
}

// inCloud returns where the cloud of clouds.yaml has the value of a key of [Global], and its name
// there. For a value that is missing it is the cloud itself. The name is empty for a value that the
// cloud-config has.
func (r *resolver) inCloud(key string) (at, name string) {
	if r.cloud == nil {
		return "", ""
	}
	at = r.placeInClouds(key)
	known := append(cloudKeys(), cloudKey{from: cloudsyaml.Verify, name: "tls-insecure", value: func(g *Global) string { return g.TLSInsecure }})
	for _, k := range known {
		switch {
		case k.name != key:
		case at != "" && r.cloud.Values[k.from].At() == at:
			return at, string(k.from)
		case at == "" && k.value(&r.config.Global) == "":
			return r.cloud.At(), string(k.from)
		}
	}
	if at != "" {
		return at, string(cloudsyaml.DefaultDomain) // the only one that sets several keys
	}

	return "", ""
}

// authMethods are the values of auth_type that this provider can log in with, and the
// secrets of each.
func authMethods() map[string]cloudsyaml.Key {
	return map[string]cloudsyaml.Key{
		"password":                cloudsyaml.Password,
		"v3password":              cloudsyaml.Password,
		"token":                   cloudsyaml.Token,
		"v3token":                 cloudsyaml.Token,
		"v3applicationcredential": cloudsyaml.ApplicationCredentialSecret,
	}
}

// checkAuthType reports whether this provider has the method that clouds.yaml names.
func (r *resolver) checkAuthType(cloud *cloudsyaml.Cloud) bool {
	kind := cloud.Text(cloudsyaml.AuthType)
	if _, ok := authMethods()[kind]; ok || kind == "" {
		return true
	}
	r.Problems.Errorf(config.Position{Path: cloud.Values[cloudsyaml.AuthType].At()},
		"cloud %q: auth_type %q is not supported: it must be password, v3password, token, v3token or v3applicationcredential", cloud.Name, kind)

	return false
}

// otherMethods returns the values that belong to other methods than the one of
// auth_type, if that one has its secret.
func otherMethods(cloud *cloudsyaml.Cloud) map[cloudsyaml.Key]bool {
	secret := authMethods()[cloud.Text(cloudsyaml.AuthType)]
	if secret == "" || cloud.Text(secret) == "" {
		return map[cloudsyaml.Key]bool{}
	}
	unused := map[cloudsyaml.Key]bool{
		cloudsyaml.Password: true, cloudsyaml.Token: true, cloudsyaml.ApplicationCredentialID: true,
		cloudsyaml.ApplicationCredentialName: true, cloudsyaml.ApplicationCredentialSecret: true,
	}
	delete(unused, secret)
	if secret == cloudsyaml.ApplicationCredentialSecret {
		delete(unused, cloudsyaml.ApplicationCredentialID)
		delete(unused, cloudsyaml.ApplicationCredentialName)
	}

	return unused
}

// otherDomains returns the values that name a domain which the cloud-config names
// already, by its ID or by its name.
func otherDomains(g *Global) map[cloudsyaml.Key]bool {
	unused := map[cloudsyaml.Key]bool{}
	if g.DomainID != "" || g.DomainName != "" {
		unused[cloudsyaml.DomainID], unused[cloudsyaml.DomainName] = true, true
	}
	if g.UserDomainID != "" || g.UserDomainName != "" {
		unused[cloudsyaml.UserDomainID], unused[cloudsyaml.UserDomainName] = true, true
	}
	if g.TenantDomainID != "" || g.TenantDomainName != "" {
		unused[cloudsyaml.ProjectDomainID], unused[cloudsyaml.ProjectDomainName] = true, true
	}

	return unused
}
