package openstack

import (
	"cmp"
	"os"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/cloudsyaml"
)

// Environment variables.
const (
	variableRegional   = "OS_CCM_REGIONAL"
	variableWaitSteps  = "OCCM_WAIT_LB_ACTIVE_STEPS"
	variableCloud      = "OS_CLOUD"
	variableCloudsFile = "OS_CLIENT_CONFIG_FILE"
)

// environment is what a process finds beside its cloud-config.
type environment struct {
	variables map[string]string
	// workingDirectory and home are where clouds.yaml is looked for.
	workingDirectory, home string
	// readFile reads clouds.yaml, and the files of certificates and keys.
	readFile cloudsyaml.Reader
}

func processEnvironment() environment {
	variables := map[string]string{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}
	// Without one of them, clouds.yaml is not looked for there.
	workingDirectory, _ := os.Getwd()
	home, _ := os.UserHomeDir()

	return environment{variables: variables, workingDirectory: workingDirectory, home: home, readFile: os.ReadFile}
}

// places is where clouds.yaml is looked for.
func (e environment) places(g *Global) cloudsyaml.Places {
	return cloudsyaml.Places{
		File: cmp.Or(g.CloudsFile, e.variables[variableCloudsFile]), WorkingDirectory: e.workingDirectory, Home: e.home,
	}
}

// applyEnvironment reads the variables that are no key of the file.
func (r *resolver) applyEnvironment() {
	switch value := r.env.variables[variableRegional]; value {
	case "true":
		r.config.regional = true
		r.note("environment " + variableRegional + " is true: the provider IDs of Nodes have the region")
	case "", "false":
	default:
		r.Problems.Warnf(config.Position{}, "environment %s is %q, which has no effect: only true has one", variableRegional, value)
	}
	if r.env.variables[variableWaitSteps] != "" {
		r.note("environment " + variableWaitSteps + " has no effect: a load balancer that is being changed holds no worker for long")
	}
}

// environmentReference lists the variables.
func environmentReference() []provider.Variable {
	return []provider.Variable{
		{Name: variableCloud, Help: "The cloud of clouds.yaml that is used, if use-clouds is set and cloud is not."},
		{Name: variableCloudsFile, Help: "The path of clouds.yaml, if use-clouds or cloud is set and clouds-file is not."},
		{Name: variableRegional, Help: "If it is exactly true, the provider IDs of Nodes have the region: openstack://<region>/<ID>."},
		{
			Name: variableWaitSteps,
			Help: "Has no effect, other than in the upstream controller: a load balancer that is being changed is waited for for at most 20 seconds, and its Service is synced again later.",
		},
	}
}
