package openstack

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/cloudsyaml"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
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
	// readFile reads clouds.yaml, and the files of certificates and keys. Nil reads none.
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

	return environment{variables: variables, workingDirectory: workingDirectory, home: home, readFile: config.ReadFile}
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
	r.applyWaitSteps()
}

// applyWaitSteps reads how long changes of load balancers are waited for. The upstream controller
// looks so many times, the first time after a second, and each further time after 1.2 times as
// long as before.
func (r *resolver) applyWaitSteps() {
	value := r.env.variables[variableWaitSteps]
	if value == "" {
		return
	}
	steps, err := strconv.Atoi(value)
	if err != nil || steps < 1 {
		r.Problems.Warnf(config.Position{}, "environment %s is %q, which has no effect: it must be a number above zero", variableWaitSteps, value)

		return
	}
	seconds := (math.Pow(waitFactor, float64(steps)) - 1) / (waitFactor - 1)
	r.config.waitLimit = time.Duration(min(seconds, pending.DefaultLimit.Seconds()) * float64(time.Second)).Round(time.Second)
	r.note(fmt.Sprintf("environment %s is %d: a load balancer that is being changed is awaited for at most %s", variableWaitSteps, steps, r.config.waitLimit))
}

// waitFactor is by how much the time between two looks of the upstream controller grows.
const waitFactor = 1.2

// environmentReference lists the variables.
func environmentReference() []provider.Variable {
	return []provider.Variable{
		{Name: variableCloud, Help: "The cloud of clouds.yaml that is used, if use-clouds is set and cloud is not."},
		{Name: variableCloudsFile, Help: "The path of clouds.yaml, if use-clouds or cloud is set and clouds-file is not."},
		{Name: variableRegional, Help: "If it is exactly true, the provider IDs of Nodes have the region: openstack://<region>/<ID>."},
		{
			Name: variableWaitSteps,
			Help: "How many looks of the upstream controller a load balancer that is being changed is awaited for: the first one is after a second, and each further one after 1.2 times as long. The default is also the most: five minutes. Then the Service is synced again later.",
		},
	}
}
