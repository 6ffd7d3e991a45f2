package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	v1 "k8s.io/api/core/v1"
)

// none is shown in a table for an empty cell.
const none = "-"

// nodeTable shows the fields that a cloud controller manager sets. The longest
// column comes last, where a narrow terminal may break it.
func nodeTable(nodes []v1.Node) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tTAINTS\tZONE\tREGION\tTYPE\tADDRESSES\tPROVIDER-ID") //nolint:errcheck // into memory
	for i := range nodes {
		fmt.Fprintln(table, strings.Join(row(&nodes[i]), "\t")) //nolint:errcheck // into memory
	}
	_ = table.Flush() // into memory

	return b.String()
}

func row(node *v1.Node) []string {
	cells := []string{
		node.Name,
		taints(node.Spec.Taints),
		node.Labels[v1.LabelTopologyZone],
		node.Labels[v1.LabelTopologyRegion],
		node.Labels[v1.LabelInstanceTypeStable],
		addresses(node.Status.Addresses),
		node.Spec.ProviderID,
	}
	for i, cell := range cells {
		if cell == "" {
			cells[i] = none
		}
	}

	return cells
}

// taints shows the ends of their keys: node.cloudprovider.kubernetes.io/shutdown
// is shutdown.
func taints(list []v1.Taint) string {
	var names []string
	for _, taint := range list {
		names = append(names, taint.Key[strings.LastIndexByte(taint.Key, '/')+1:])
	}

	return strings.Join(names, ",")
}

// addresses shows IP addresses, each once.
func addresses(list []v1.NodeAddress) string {
	var ips []string
	for _, address := range list {
		isIP := address.Type == v1.NodeInternalIP || address.Type == v1.NodeExternalIP
		if isIP && !slices.Contains(ips, address.Address) {
			ips = append(ips, address.Address)
		}
	}

	return strings.Join(ips, ",")
}
