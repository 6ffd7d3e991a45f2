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
	e := &examination{providers: providers}
	explain := &cobra.Command{
		Use:   "explain [FILE]",
		Short: "List every effective setting and its source",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := e.run(cmd, args, config.Problems.Strict, config.TextOnly)
			if err != nil {
				return err
			}

			return printSettings(cmd.OutOrStdout(), chosen.provider.Name, chosen.provider.Explain(chosen.file))
		},
	}
	parent := &cobra.Command{
		Use: "config", Short: "Inspect a cloud-config", SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}

			return fmt.Errorf("unknown command %q, known are: explain, validate%s", args[0], didYouMean(cmd.SuggestionsFor(args[0])))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	parent.PersistentFlags().StringVar(&e.path, "cloud-config", "", "Path of the cloud-config, instead of FILE.")
	parent.PersistentFlags().StringVar(&e.flag.Value, "cloud-provider", "", "Name of the provider, if the cloud-config does not name one.")
	parent.AddCommand(newValidateCommand(e), explain)

	return parent
}

func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}

	return fmt.Sprintf(", did you mean %s?", names[0])
}

// examination is how commands read a cloud-config.
type examination struct {
	providers []provider.Descriptor
	path      string
	flag      config.Flag
}

// run prints every problem of the cloud-config of a command, each with the severity that it gets.
func (e *examination) run(
	cmd *cobra.Command, args []string, severity func(config.Problems) config.Problems, scope config.Scope,
) (choice, error) {
	path := e.path
	switch {
	case len(args) == 0 && path == "":
		return choice{}, errors.New("the cloud-config is missing: add the path of the file")
	case len(args) > 0 && path != "":
		return choice{}, fmt.Errorf("there are two files, %s and --cloud-config=%s: remove one of them", args[0], path)
	case len(args) > 0:
		path = args[0]
	}
	e.flag.Set = cmd.Flags().Changed("cloud-provider")
	chosen, err := choose(e.providers, path, e.flag, scope)
	if chosen.provider.Name == "" {
		return chosen, err
	}
	problems := severity(chosen.problems)
	for _, problem := range problems {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", problem.Severity, problem) //nolint:errcheck // a terminal
	}
	if problems.Err() != nil {
		return chosen, fmt.Errorf("%s is not valid for provider %s", path, chosen.provider.Name)
	}

	return chosen, nil
}

// newValidateCommand returns the command that checks a cloud-config.
func newValidateCommand(e *examination) *cobra.Command {
	var cloud connection
	var checkFiles bool
	validate := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check a cloud-config, offline or in the cloud; exit code 1 on any problem",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			severity, scope := config.Problems.Strict, config.TextOnly
			if cloud.wanted {
				severity = asAtStart
			}
			if cloud.wanted || checkFiles {
				scope = config.WithFiles
			}
			chosen, err := e.run(cmd, args, severity, scope)
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
	validate.Flags().BoolVar(&checkFiles, "check-files", false,
		"Open the files that the cloud-config names, such as certificates, as the controllers do. Without it, they may exist in the Pod only.")
	validate.Flags().BoolVar(&cloud.wanted, "connect", false,
		"Log in to the cloud, and find there what the cloud-config names and the Nodes of the cluster. Nothing is changed. "+
			"Warnings are printed, as at the start of the controllers, and only errors count. It includes --check-files.")
	validate.Flags().BoolVar(&cloud.allowUnproven, "allow-unproven", false,
		"Print a warning instead of an error if --connect gets no response about the cloud-config, from the cloud or the API server. "+
			"What the cloud refuses is an error.")
	validate.Flags().StringVar(&cloud.kubeconfig, "kubeconfig", "",
		"Path of the kubeconfig of the cluster whose Nodes --connect looks up. Default: the cluster of the Pod, if there is one.")

	return validate
}

// asAtStart leaves problems as they are when the controllers start.
func asAtStart(problems config.Problems) config.Problems { return problems }

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
