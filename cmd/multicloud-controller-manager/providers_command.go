package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// newProvidersCommand lists what this binary can run.
func newProvidersCommand(providers []provider.Descriptor) *cobra.Command {
	return &cobra.Command{
		Use:   "providers",
		Short: "List the providers and what each supports",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printProviders(cmd.OutOrStdout(), providers)
		},
	}
}

func printProviders(w io.Writer, providers []provider.Descriptor) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range providers {
		fmt.Fprintf(table, "%s\t%s\n", p.Name, p.Summary) //nolint:errcheck // Flush returns the error
		for _, c := range p.Capabilities {
			supported := "yes"
			if !c.Supported {
				supported = "no"
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\n", c.Name, supported, c.Note) //nolint:errcheck // Flush returns the error
		}
	}

	return table.Flush()
}
