package vsphere

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/tlsfiles"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

// environment is what a process finds beside its cloud-config.
type environment struct {
	variables    map[string]string
	hasDirectory func(path string) bool
	// checkCAFile returns why the CA certificates of a vCenter cannot be used. Nil opens no files.
	checkCAFile func(path string) error
	// checkTLS does the same for all files of the NSX-T manager.
	checkTLS func(tlsfiles.Files) error
}

func processEnvironment() environment {
	variables := map[string]string{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}

	return environment{
		variables: variables,
		hasDirectory: func(path string) bool {
			info, err := os.Stat(path)

			return err == nil && info.IsDir()
		},
		checkCAFile: session.CheckCAFile,
		checkTLS: func(files tlsfiles.Files) error {
			_, err := files.Config()

			return err
		},
	}
}

// variable is an environment variable and the key that it sets.
type variable struct{ name, section, key string }

func variables() []variable {
	return []variable{
		{"VSPHERE_VCENTER", "Global", "server"},
		{"VSPHERE_VCENTER_PORT", "Global", "port"},
		{"VSPHERE_USER", "Global", "user"},
		{"VSPHERE_PASSWORD", "Global", "password"},
		{"VSPHERE_DATACENTER", "Global", "datacenters"},
		{"VSPHERE_ROUNDTRIP_COUNT", "Global", "soap-roundtrip-count"},
		{"VSPHERE_INSECURE", "Global", "insecure-flag"},
		{"VSPHERE_CAFILE", "Global", "ca-file"},
		{"VSPHERE_THUMBPRINT", "Global", "thumbprint"},
		{"VSPHERE_SECRET_NAME", "Global", "secret-name"},
		{"VSPHERE_SECRET_NAMESPACE", "Global", "secret-namespace"},
		{"VSPHERE_SECRETS_DIRECTORY", "Global", "secrets-directory"},
		{"VSPHERE_LABEL_ZONE", "Labels", "zone"},
		{"VSPHERE_LABEL_REGION", "Labels", "region"},
		{"VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR", "Nodes", "internal-network-subnet-cidr"},
		{"VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR", "Nodes", "external-network-subnet-cidr"},
		{"VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME", "Nodes", "internal-vm-network-name"},
		{"VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME", "Nodes", "external-vm-network-name"},
		{"NSXT_MANAGER_HOST", "NSXT", "host"},
		{"NSXT_USERNAME", "NSXT", "user"},
		{"NSXT_PASSWORD", "NSXT", "password"},
		{"NSXT_SECRET_NAME", "NSXT", "secret-name"},
		{"NSXT_SECRET_NAMESPACE", "NSXT", "secret-namespace"},
		{"NSXT_CLIENT_AUTH_CERT_FILE", "NSXT", "client-auth-cert-file"},
		{"NSXT_CLIENT_AUTH_KEY_FILE", "NSXT", "client-auth-key-file"},
		{"NSXT_ALLOW_UNVERIFIED_SSL", "NSXT", "insecure-flag"},
		{"NSXT_CA_FILE", "NSXT", "ca-file"},
	}
}

// entryPrefix begins variables that add a vCenter each: what follows is an ID
// of the user's choice, the value is its address, or its name if a companion
// has the address.
const entryPrefix = "VSPHERE_VCENTER_"

// companions are the ends of VCENTER_<id>_… variables, with the keys they set.
func companions() map[string]string {
	return map[string]string{
		"USERNAME":         "user",
		"PASSWORD":         "password",
		"SERVER":           "server",
		"PORT":             "port",
		"INSECURE":         "insecure-flag",
		"DATACENTERS":      "datacenters",
		"ROUNDTRIP":        "soap-roundtrip-count",
		"CAFILE":           "ca-file",
		"THUMBPRINT":       "thumbprint",
		"SECRET_NAME":      "secret-name",
		"SECRET_NAMESPACE": "secret-namespace",
		"IP_FAMILY":        "ip-family",
	}
}

// applyEnvironment applies the environment after the file and before
// anything is checked. A variable with an empty value counts as not set.
func (r *resolver) applyEnvironment() {
	for _, v := range variables() {
		if value := r.env.variables[v.name]; value != "" {
			r.setFrom(v.name, config.Name{Section: v.section, Key: v.key}, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.env.variables)) {
		id, ok := strings.CutPrefix(name, entryPrefix)
		if value := r.env.variables[name]; ok && id != "PORT" && id != "" && value != "" {
			r.addEntry(name, id, value)
		}
	}
	if _, set := r.env.variables["SKIP_NODE_DELETION"]; set {
		r.config.skipNodeDeletion = true
		r.note("environment SKIP_NODE_DELETION is set: no Node is deleted")
	}
}

// addEntry adds the vCenter that VSPHERE_VCENTER_<id> names, in place of one
// of that name in the file.
func (r *resolver) addEntry(variable, id, name string) {
	if end, ok := r.misplacedCompanion(id); ok {
		r.Problems.Warnf(config.Position{}, "environment %s is ignored, did you mean %s%s?", variable, "VCENTER_", strings.TrimSuffix(id, end)+end)

		return
	}
	delete(r.config.VirtualCenter, name)
	r.serverKeys[name] = entryName(name, "server")
	for _, key := range companions() {
		r.Origins[entryName(name, key)] = "default"
	}
	r.Origins[entryName(name, "retired")] = "default"
	r.setFrom(variable, entryName(name, "server"), name)
	for _, end := range slices.Sorted(maps.Keys(companions())) {
		companion := "VCENTER_" + id + "_" + end
		if value := r.env.variables[companion]; value != "" {
			r.setFrom(companion, entryName(name, companions()[end]), value)
		}
	}
}

// misplacedCompanion reports that an ID is really the ID and the end of a
// companion variable, written with the wrong prefix. Its value may be a
// password, which must not become the name of a vCenter.
func (r *resolver) misplacedCompanion(id string) (end string, ok bool) {
	for end := range companions() {
		end = "_" + end
		owner, ok := strings.CutSuffix(id, end)
		if ok && (end == "_PASSWORD" || r.env.variables[entryPrefix+owner] != "") {
			return end, true
		}
	}

	return "", false
}

// setFrom sets a key to the value of an environment variable.
func (r *resolver) setFrom(variable string, name config.Name, value string) {
	origin := "environment " + variable
	if err := config.Set(r.config, name, value); err != nil {
		r.Problems.Errorf(config.Position{}, "%s: %v", origin, err)

		return
	}
	r.Origins[name] = origin
}
