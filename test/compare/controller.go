package main

import (
	"debug/buildinfo"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

// controller is a controller manager to measure.
type controller struct {
	// name is what reports call it, with the version of the upstream one.
	name, binary string
	// args are those with which it is deployed.
	args []string
	// config returns its cloud-config, made from ours.
	config func(ours string) string
}

// deployment is what the chart or the manifest of an upstream controller passes to it.
type deployment struct {
	args []string
	// config is what its cloud-config needs on top of the keys that ours has.
	config string
}

var deployments = map[string]deployment{
	// The default value of --configure-cloud-routes needs --cluster-cidr.
	"aws": {args: []string{"--cloud-provider=aws", "--configure-cloud-routes=false"}},
	// It finds no external network whose subnets belong to another project.
	"openstack": {
		args: []string{
			"--cloud-provider=openstack", "--cluster-name=kubernetes", "--use-service-account-credentials=false",
			"--controllers=cloud-node,cloud-node-lifecycle,route,service",
		},
		config: "[LoadBalancer]\nfloating-network-id = " + scenario.OpenStackPublic + "\n",
	},
	"vsphere": {args: []string{"--cloud-provider=vsphere"}},
}

// controllers returns the upstream controller of a provider and ours.
func controllers(p plan) ([2]controller, error) {
	theirs, err := filepath.Abs(p.theirs)
	if err != nil {
		return [2]controller{}, err
	}
	ours, err := filepath.Abs(p.ours)
	if err != nil {
		return [2]controller{}, err
	}
	info, err := buildinfo.ReadFile(theirs)
	if err != nil {
		return [2]controller{}, fmt.Errorf("read the version of the upstream controller: %w", err)
	}
	upstream := deployments[p.provider.Name]

	return [2]controller{
		{
			name: "upstream " + info.Main.Version, binary: theirs, args: append(upstream.args, strings.Fields(p.flags)...),
			config: func(ours string) string {
				return strings.Replace(ours, "provider = "+p.provider.Name+"\n", "", 1) + upstream.config
			},
		},
		{name: "multicloud-ccm", binary: ours, config: func(ours string) string { return ours }},
	}, nil
}
