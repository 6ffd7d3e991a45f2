// Package inventory lists what is in a cluster, for tests of what an installation leaves
// behind.
package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Objects are objects by kind, namespace and name.
type Objects map[string]*unstructured.Unstructured

// List returns all objects of all kinds that the API server has, but for those that Helm and
// tests do not make: Events, and Nodes with their Pods.
func List(ctx context.Context, config *rest.Config) (Objects, error) {
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make discovery client: %w", err)
	}
	lists, err := kinds.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("list kinds: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make dynamic client: %w", err)
	}
	found := Objects{}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("list kinds: %w", err)
		}
		for _, resource := range list.APIResources {
			if slices.Contains([]string{"events", "nodes", "pods"}, resource.Name) {
				continue
			}
			objects, err := client.Resource(version.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", resource.Name, err)
			}
			for _, object := range objects.Items {
				found[fmt.Sprintf("%s %s/%s", resource.Kind, object.GetNamespace(), object.GetName())] = &object
			}
		}
	}

	return found, nil
}

// Since are the objects that were not there before.
func (o Objects) Since(before Objects) []*unstructured.Unstructured {
	var fresh []*unstructured.Unstructured
	for key, object := range o {
		if before[key] == nil {
			fresh = append(fresh, object)
		}
	}

	return fresh
}

// Unnoted describes the objects that are left after an uninstallation although the notes of the
// revisions of the release do not name them. They can only name Leases and ServiceAccounts.
func Unnoted(notes string, left []*unstructured.Unstructured) []string {
	var stay strings.Builder
	for _, note := range strings.Split(notes, "these objects stay")[1:] {
		list, _, _ := strings.Cut(note, "To remove load balancers")
		stay.WriteString(list)
	}
	var unnoted []string
	for _, object := range left {
		kind, name := object.GetKind(), object.GetName()
		if !strings.Contains(stay.String(), kind) || !strings.Contains(stay.String(), name) || kind != "Lease" && kind != "ServiceAccount" {
			unnoted = append(unnoted, fmt.Sprintf("%s %s/%s is left, and the notes do not name it: %s", kind, object.GetNamespace(), name, &stay))
		}
	}

	return unnoted
}
