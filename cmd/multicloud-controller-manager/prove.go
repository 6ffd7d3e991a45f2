package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// nodesAccount is the account of the controllers for Nodes, which may list them.
const nodesAccount = "node-controller"

// prove proves a cloud-config in the cloud, with the Nodes of the cluster, if there is one.
func prove(ctx context.Context, chosen choice, clients cloudprovider.ControllerClientBuilder) (provider.Proof, error) {
	ctx, cancel := provider.BeginProof(ctx)
	defer cancel()
	candidate := provider.Candidate{File: chosen.file, Clients: clients}
	if clients != nil {
		var err error
		if candidate.Nodes, err = listNodes(ctx, clients); err != nil {
			// Whatever it is, even a certificate, it is not about the cloud-config.
			return provider.Proof{}, apierr.Mark(apierr.ErrUnavailable, errors.New(err.Error()))
		}
	}

	return chosen.provider.Prove(ctx, candidate)
}

// listNodes lists the Nodes of the cluster.
func listNodes(ctx context.Context, clients cloudprovider.ControllerClientBuilder) ([]*v1.Node, error) {
	client, err := clients.Client(nodesAccount)
	if err != nil {
		return nil, fmt.Errorf("make a client for Nodes: %w", err)
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	nodes := make([]*v1.Node, len(list.Items))
	for i := range list.Items {
		nodes[i] = &list.Items[i]
	}

	return nodes, nil
}

// connection is what config validate proves a cloud-config with.
type connection struct {
	wanted        bool
	kubeconfig    string
	allowUnproven bool
}

// prove proves a cloud-config, and prints what it leads to.
func (c connection) prove(cmd *cobra.Command, chosen choice) error {
	clients, without, err := c.clients()
	if err != nil {
		return err
	}
	proof, err := prove(klog.NewContext(cmd.Context(), logr.Discard()), chosen, clients)
	if printed := printProof(cmd.OutOrStdout(), proof, without); printed != nil || err == nil {
		return printed
	}
	err = fmt.Errorf("%s is not proven: %w", chosen.file.Path, err)
	if c.allowUnproven && provider.Unanswered(err) {
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", config.Warning, err)
	}

	return err
}

// clients makes the clients of the cluster, or returns why there is none.
func (c connection) clients() (clients cloudprovider.ControllerClientBuilder, without string, err error) {
	if c.kubeconfig != "" {
		client, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
		if err != nil {
			return nil, "", fmt.Errorf("read --kubeconfig: %w", err)
		}

		return clientbuilder.SimpleControllerClientBuilder{ClientConfig: client}, "", nil
	}
	client, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Sprintf("there is no --kubeconfig, and no cluster around: %v", err), nil
	}

	return clientbuilder.SimpleControllerClientBuilder{ClientConfig: client}, "", nil
}

// printProof prints what is known of a proof. Without Nodes it prints why.
func printProof(w io.Writer, proof provider.Proof, without string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	nodes := describeNodes(proof.Nodes)
	if without != "" {
		nodes = "not looked up: " + without
	}
	for _, row := range [][2]string{{"identity", proof.Identity}, {"scope", proof.Scope}, {"region", proof.Region}, {"nodes", nodes}} {
		fmt.Fprintf(table, "%s\t%s\n", row[0], cmp.Or(row[1], "-")) //nolint:errcheck // Flush returns the error
	}

	return table.Flush()
}

func describeNodes(nodes instance.Located) string {
	text := fmt.Sprintf("%d found, %d missing", len(nodes.Found), len(nodes.Missing))
	if len(nodes.Missing) > 0 {
		text += ": " + strings.Join(nodes.Missing, ", ")
	}
	if len(nodes.Unknown) > 0 {
		text += fmt.Sprintf("; not known of %d: %s", len(nodes.Unknown), strings.Join(nodes.Unknown, ", "))
	}

	return text
}
