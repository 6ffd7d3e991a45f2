package vsphere

import "github.com/multicloud-ccm/multicloud-ccm/config"

// chooseSecretsDirectory finds the directory of credentials where nothing else
// determines where they are, and reports sources that do not count.
func (r *resolver) chooseSecretsDirectory() {
	g := &r.config.Global
	name := globalName("secrets-directory")
	r.checkSecret(config.Name{Section: "Global"}, g.Connection)
	switch {
	case g.hasSecret() && g.SecretsDirectory != "":
		r.Problems.Warnf(r.At(name), "%s is ignored: the Secret %s/%s is set, too", r.Spell(name), g.SecretNamespace, g.SecretName)
		g.SecretsDirectory = ""
	case !g.hasSecret() && g.SecretsDirectory == "" && r.env.hasDirectory(defaultSecretsDirectory):
		g.SecretsDirectory, r.implied = defaultSecretsDirectory, true
		r.Origins[name] = "default: the directory exists"
	}
}

// checkSecret warns of half a Secret: it does not count.
func (r *resolver) checkSecret(section config.Name, c Connection) {
	given, missing := "secret-name", "secret-namespace"
	switch {
	case (c.SecretName == "") == (c.SecretNamespace == ""):
		return
	case c.SecretName == "":
		given, missing = missing, given
	}
	section.Key = given
	r.Problems.Warnf(r.At(section), "%s is ignored without %s", r.Spell(section), missing)
}

// hasSecret reports whether a Secret is named. Half a name does not count.
func (c Connection) hasSecret() bool { return c.SecretName != "" && c.SecretNamespace != "" }

// secretSource is where the credentials of a vCenter are kept: in a Secret, in a
// directory, or in neither.
type secretSource struct {
	secretNamespace, secretName string
	directory                   string
}

func (s secretSource) none() bool { return s == secretSource{} }

// secretSource finds the source that counts for a vCenter: its own Secret, then
// that of [Global], then the directory. User and password in the file, where
// there are any, come after it.
func (c *Config) secretSource(entry *VirtualCenter) secretSource {
	switch {
	case entry.hasSecret():
		return secretSource{secretNamespace: entry.SecretNamespace, secretName: entry.SecretName}
	case c.Global.hasSecret():
		return secretSource{secretNamespace: c.Global.SecretNamespace, secretName: c.Global.SecretName}
	}

	return secretSource{directory: c.Global.SecretsDirectory}
}
