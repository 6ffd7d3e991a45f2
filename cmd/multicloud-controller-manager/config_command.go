package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// newConfigCommand returns the commands that check a cloud-config, offline unless they are asked
// to connect.
func newConfigCommand(providers []provider.Descriptor) *cobra.Command {
	var path string
	var flag config.Flag
	examine := func(cmd *cobra.Command, severity func(config.Problems) config.Problems) (choice, error) {
		flag.Set = cmd.Flags().Changed("cloud-provider")

		return examineConfig(cmd.ErrOrStderr(), providers, path, flag, severity)
	}
	explain := &cobra.Command{
		Use:   "explain",
		Short: "List every effective setting and its source",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen, err := examine(cmd, config.Problems.Strict)
			if err != nil {
				return err
			}

			return printSettings(cmd.OutOrStdout(), chosen.provider.Name, chosen.provider.Explain(chosen.file))
		},
	}
	parent := &cobra.Command{Use: "config", Short: "Inspect a cloud-config"}
	parent.PersistentFlags().StringVar(&path, "cloud-config", "", "Path of the cloud-config.")
	parent.PersistentFlags().StringVar(&flag.Value, "cloud-provider", "", "Name of the provider, if the cloud-config does not name one.")
	parent.AddCommand(newValidateCommand(examine), explain)

	return parent
}

// examineFunc examines the cloud-config that the flags of a command name.
type examineFunc func(cmd *cobra.Command, severity func(config.Problems) config.Problems) (choice, error)

// newValidateCommand returns the command that checks a cloud-config.
func newValidateCommand(examine examineFunc) *cobra.Command {
	var cloud connection
	validate := &cobra.Command{
		Use:   "validate",
		Short: "Check a cloud-config, offline or in the cloud; exit code 1 on any problem",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			severity := config.Problems.Strict
			if cloud.wanted {
				severity = asAtStart
			}
			chosen, err := examine(cmd, severity)
			if err != nil {
				return err
			}
			path, name := chosen.file.Path, chosen.provider.Name
			if hasWarnings(chosen.problems) && !cloud.wanted {
				return fmt.Errorf("%s can be used by provider %s, with warnings", path, name)
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: valid for provider %s\n", path, name); err != nil || !cloud.wanted {
				return err
			}

			return cloud.prove(cmd, chosen)
		},
	}
	validate.Flags().BoolVar(&cloud.wanted, "connect", false,
		"Log in to the cloud, and find there what the cloud-config names and the Nodes of the cluster. Nothing is changed. "+
			"Warnings are printed, as at the start of the controllers, and only errors count.")
	validate.Flags().BoolVar(&cloud.allowUnproven, "allow-unproven", false,
		"Print a warning instead of an error if --connect gets no response about the cloud-config, from the cloud or the API server. "+
			"What the cloud refuses is an error.")
	validate.Flags().StringVar(&cloud.kubeconfig, "kubeconfig", "",
		"Path of the kubeconfig of the cluster whose Nodes --connect looks up. Default: the cluster of the Pod, if there is one.")

	return validate
}

// asAtStart leaves problems as they are when the controllers start.
func asAtStart(problems config.Problems) config.Problems { return problems }

// examineConfig prints every problem of a cloud-config, each with the severity that it gets.
func examineConfig(
	w io.Writer, providers []provider.Descriptor, path string, flag config.Flag, severity func(config.Problems) config.Problems,
) (choice, error) {
	if path == "" {
		return choice{}, errors.New("--cloud-config is missing: set it to the path of the file")
	}
	chosen, err := choose(providers, path, flag)
	if chosen.provider.Name == "" {
		return chosen, err
	}
	problems := severity(chosen.problems)
	for _, problem := range problems {
		fmt.Fprintf(w, "%s: %s\n", problem.Severity, problem) //nolint:errcheck // a terminal
	}
	if problems.Err() != nil {
		return chosen, fmt.Errorf("%s is not valid for provider %s", path, chosen.provider.Name)
	}

	return chosen, nil
}

func hasWarnings(problems config.Problems) bool {
	return slices.ContainsFunc(problems, func(p config.Problem) bool { return p.Severity == config.Warning })
}

func printSettings(w io.Writer, providerName string, settings []config.Setting) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "provider\t%s\t\n", providerName) //nolint:errcheck // Flush returns the error
	for _, s := range settings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, s.Value, s.Source) //nolint:errcheck // Flush returns the error
	}

	return table.Flush()
}
