// Command multicloud-controller-manager is one cloud controller manager for
// several clouds: it registers every provider it links and runs the one that
// the cloud-config names.
package main

import (
	"fmt"
	"maps"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // rest_client_* metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/all"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

const (
	commandName = "multicloud-controller-manager"
	description = `One cloud controller manager for several clouds. [Global] provider in the
cloud-config selects the provider. --cloud-provider is kept for compatibility;
if set, it must name the same provider.

  ` + commandName + ` --cloud-config FILE           run the controllers
  ` + commandName + ` config validate|explain FILE  inspect a cloud-config
  ` + commandName + ` providers                     list the providers in this binary`
)

func main() {
	setGCPercent(os.Getenv("GOGC"))
	followMemoryLimit()
	os.Exit(run(all.Descriptors()))
}

// run runs the process and returns its exit code.
func run(providers []provider.Descriptor) int {
	life := newLifetime()
	cmd, err := newCommand(providers, life)
	if err != nil {
		fmt.Fprintf(os.Stderr, "Error: %v\n", err)

		return 1
	}
	code := cli.Run(cmd)
	if code != 0 {
		life.closeCloud()
	} else if err := life.handOver(); err != nil {
		klog.ErrorS(err, "The lease is kept until it expires")
	}

	return code
}

// newCommand builds the framework's command with our choice of the provider
// hooked in, and our subcommands.
func newCommand(providers []provider.Descriptor, life *lifetime) (*cobra.Command, error) {
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("make the options: %w", err)
	}
	setDefaults(opts)

	start := &starter{options: opts, providers: providers, life: life}
	cmd := app.NewCloudControllerManagerCommand(opts, start.initCloud, start.leading.observe(controllers(providers)),
		names.CCMControllerAliases(), providerFlags(providers), life.done())
	cmd.Use = commandName
	cmd.Long = description
	cmd.PreRunE = start.choose
	cmd.Args = nil // cobra's own check suggests commands
	cmd.SetContext(life.ctx)
	addSubcommands(cmd, newConfigCommand(providers), newProvidersCommand(providers))

	return cmd, nil
}

// addSubcommands adds commands for interactive use: the framework's help
// describes only the root, and its errors are log lines.
func addSubcommands(root *cobra.Command, subs ...*cobra.Command) {
	plain := &cobra.Command{}
	for _, sub := range subs {
		sub.SetHelpFunc(plain.HelpFunc())
		sub.SetUsageFunc(plain.UsageFunc())
		// Without the root's hook logging is not set up, and errors are
		// printed as they are.
		sub.PersistentPreRun = func(*cobra.Command, []string) {}
		root.AddCommand(sub)
	}
}

// controllers are the framework's controllers, the one for Nodes with our start,
// and those of the providers.
func controllers(providers []provider.Descriptor) map[string]app.ControllerInitFuncConstructor {
	constructors := maps.Clone(app.DefaultInitFuncConstructors)
	initNodes := constructors[names.CloudNodeController]
	initNodes.Constructor = nodeController
	constructors[names.CloudNodeController] = initNodes
	for _, p := range providers {
		maps.Copy(constructors, p.Controllers)
		app.ControllersDisabledByDefault.Insert(p.ControllersOffByDefault...)
	}

	return constructors
}

func providerFlags(providers []provider.Descriptor) cliflag.NamedFlagSets {
	flags := cliflag.NamedFlagSets{}
	for _, p := range providers {
		if p.AddFlags != nil {
			p.AddFlags(flags.FlagSet(p.Name))
		}
	}

	return flags
}
