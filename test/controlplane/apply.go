package controlplane

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

const fieldManager = "controlplane"

// Apply creates or updates each object of a YAML manifest, in order, as the
// admin: what helm template and kubectl apply take. Objects without a namespace
// go to default. The whole manifest is read before the first object is applied;
// fields that the API server does not know are errors.
func (cp *ControlPlane) Apply(ctx context.Context, manifest []byte) error {
	options := metav1.PatchOptions{FieldManager: fieldManager, Force: new(true), FieldValidation: metav1.FieldValidationStrict}
	objects, err := Parse(manifest)
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	mapper, err := newMapper(cp)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cp.admin)
	if err != nil {
		return fmt.Errorf("make dynamic client: %w", err)
	}
	for _, object := range objects {
		resource, err := resourceOf(client, mapper, object)
		if err == nil {
			err = patch(ctx, resource, object, options)
		}
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}

	return nil
}

func newMapper(cp *ControlPlane) (meta.RESTMapper, error) {
	client, err := discovery.NewDiscoveryClientForConfig(cp.admin)
	if err != nil {
		return nil, fmt.Errorf("make discovery client: %w", err)
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return nil, fmt.Errorf("discover kinds: %w", err)
	}

	return restmapper.NewDiscoveryRESTMapper(groups), nil
}

// Parse splits a YAML manifest into its objects, in order. Documents that hold nothing but
// comments are left out.
func Parse(manifest []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		content := map[string]any{}
		if err := yaml.UnmarshalStrict(document, &content); err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		if len(content) == 0 {
			continue
		}
		object := &unstructured.Unstructured{Object: content}
		if object.GetKind() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("document %d: kind or metadata.name is missing", number)
		}
		objects = append(objects, object)
	}
}

func resourceOf(client dynamic.Interface, mapper meta.RESTMapper, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	resource := client.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return resource, nil
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}

	return resource.Namespace(namespace), nil
}

func patch(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured, options metav1.PatchOptions) error {
	content, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = resource.Patch(ctx, object.GetName(), types.ApplyPatchType, content, options)

	return err
}
