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

// newConfigCommand returns the commands that check a cloud-config offline.
func newConfigCommand(providers []provider.Descriptor) *cobra.Command {
	var path string
	var flag config.Flag
	examine := func(cmd *cobra.Command) (choice, error) {
		flag.Set = cmd.Flags().Changed("cloud-provider")

		return examineConfig(cmd.ErrOrStderr(), providers, path, flag)
	}
	validate := &cobra.Command{
		Use:   "validate",
		Short: "Check a cloud-config; exit code 1 on any problem",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen, err := examine(cmd)
			if err != nil {
				return err
			}
			if hasWarnings(chosen.problems) {
				return fmt.Errorf("%s can be used by provider %s, with warnings", path, chosen.provider.Name)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: valid for provider %s\n", path, chosen.provider.Name)

			return err
		},
	}
	explain := &cobra.Command{
		Use:   "explain",
		Short: "List every effective setting and its source",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen, err := examine(cmd)
			if err != nil {
				return err
			}

			return printSettings(cmd.OutOrStdout(), chosen.provider.Name, chosen.provider.Explain(chosen.file))
		},
	}
	parent := &cobra.Command{Use: "config", Short: "Inspect a cloud-config, offline"}
	parent.PersistentFlags().StringVar(&path, "cloud-config", "", "Path of the cloud-config.")
	parent.PersistentFlags().StringVar(&flag.Value, "cloud-provider", "", "Name of the provider, if the cloud-config does not name one.")
	parent.AddCommand(validate, explain)

	return parent
}

// examineConfig prints every problem of a cloud-config; an unknown name is an
// error here, as in strict files.
func examineConfig(w io.Writer, providers []provider.Descriptor, path string, flag config.Flag) (choice, error) {
	if path == "" {
		return choice{}, errors.New("--cloud-config is missing: set it to the path of the file")
	}
	chosen, err := choose(providers, path, flag)
	if chosen.provider.Name == "" {
		return chosen, err
	}
	problems := chosen.problems.Strict()
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
