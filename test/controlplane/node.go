package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// parallelRegistrations keeps two cores busy without queueing in the API server.
const parallelRegistrations = 32

// NodeSpec describes a node that joins the cluster. Only Name is required.
type NodeSpec struct {
	// Name of the Node, and its host name.
	Name string

	// ProviderID is what --provider-id sets; most kubelets leave it to the cloud
	// controller manager.
	ProviderID string

	// SystemUUID is what the kubelet reads from the firmware.
	SystemUUID string

	// NodeIPs are what --node-ip sets: one address, or one of each family. They
	// become the annotation alpha.kubernetes.io/provided-node-ip and the first
	// addresses of the Node.
	NodeIPs []string

	// Labels, Annotations and Taints come on top of the kubelet's own.
	Labels, Annotations map[string]string
	Taints              []v1.Taint

	// Ready is the status of the condition Ready. Default: True.
	Ready v1.ConditionStatus
}

// RegisterNode creates the Node that a kubelet with --cloud-provider=external
// creates: tainted uninitialized, with its host name as the only address unless
// NodeIPs are given.
func RegisterNode(ctx context.Context, client kubernetes.Interface, spec NodeSpec) (*v1.Node, error) {
	node, err := client.CoreV1().Nodes().Create(ctx, newNode(spec), metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("register node %s: %w", spec.Name, err)
	}

	return node, nil
}

// RegisterNodes registers many nodes at once. It stops at the first error; some
// nodes are registered then.
func RegisterNodes(ctx context.Context, client kubernetes.Interface, specs []NodeSpec) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelRegistrations)
	for _, spec := range specs {
		group.Go(func() error {
			_, err := RegisterNode(ctx, client, spec)

			return err
		})
	}

	return group.Wait()
}

// SetReady sets the condition Ready of a node: True or False as its kubelet
// would, Unknown as the node lifecycle controller does for a kubelet that has
// stopped reporting. Taints stay as they are.
func SetReady(ctx context.Context, client kubernetes.Interface, name string, status v1.ConditionStatus) error {
	patch, err := json.Marshal(map[string]any{
		"status": map[string]any{"conditions": []v1.NodeCondition{readyCondition(status)}},
	})
	if err != nil {
		return fmt.Errorf("set node %s ready %s: %w", name, status, err)
	}
	_, err = client.CoreV1().Nodes().PatchStatus(ctx, name, patch)
	if err != nil {
		return fmt.Errorf("set node %s ready %s: %w", name, status, err)
	}

	return nil
}

func newNode(spec NodeSpec) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        spec.Name,
			Labels:      nodeLabels(spec),
			Annotations: nodeAnnotations(spec),
		},
		Spec: v1.NodeSpec{
			ProviderID: spec.ProviderID,
			Taints: append([]v1.Taint{{
				Key:    cloudproviderapi.TaintExternalCloudProvider,
				Value:  "true",
				Effect: v1.TaintEffectNoSchedule,
			}}, spec.Taints...),
		},
		Status: nodeStatus(spec),
	}
}

func nodeLabels(spec NodeSpec) map[string]string {
	labels := map[string]string{
		v1.LabelHostname:          spec.Name,
		v1.LabelOSStable:          "linux",
		v1.LabelArchStable:        "amd64",
		"beta.kubernetes.io/os":   "linux",
		"beta.kubernetes.io/arch": "amd64",
	}
	maps.Copy(labels, spec.Labels)

	return labels
}

// What a Node has that a cloud controller manager does not use: as many annotations, conditions and images as in a cluster
// with a network plugin, a storage driver and the node problem detector. It is about 12 KB, and has 3 KB of managed fields.
const (
	annotations = 18
	conditions  = 6
	images      = 50
)

// CheckComplete returns an error if a Node has lost anything that it was registered with and nothing should write.
func CheckComplete(node *v1.Node) error {
	got := [...]int{len(node.Annotations), len(node.Status.Conditions), len(node.Status.Images), len(node.Status.Capacity), len(node.ManagedFields)}
	for i, least := range [...]int{annotations, conditions + 4, images, 3, 1} {
		if got[i] < least {
			return fmt.Errorf("node %s has lost annotations, conditions, images, capacity or managed fields: %v", node.Name, got)
		}
	}

	return nil
}

func nodeAnnotations(spec NodeSpec) map[string]string {
	all := map[string]string{}
	for i := range annotations {
		all[fmt.Sprintf("plugin-%d.example.com/state", i)] = fmt.Sprintf(`{"interface":"eth%d","mac":"02:00:00:00:00:%02d","node":%q}`, i, i, spec.Name)
	}
	maps.Copy(all, spec.Annotations)
	if len(spec.NodeIPs) > 0 {
		all[cloudproviderapi.AnnotationAlphaProvidedIPAddr] = strings.Join(spec.NodeIPs, ",")
	}

	return all
}

func nodeImages() []v1.ContainerImage {
	all := make([]v1.ContainerImage, images)
	for i := range all {
		name := fmt.Sprintf("registry.example.com/team-%d/service-%d", i%7, i)
		all[i] = v1.ContainerImage{SizeBytes: int64(i+1) << 20, Names: []string{name + fmt.Sprintf("@sha256:%064x", i), name + ":v1.2.3"}}
	}

	return all
}

func nodeStatus(spec NodeSpec) v1.NodeStatus {
	resources := v1.ResourceList{
		v1.ResourceCPU:    resource.MustParse("4"),
		v1.ResourceMemory: resource.MustParse("8Gi"),
		v1.ResourcePods:   resource.MustParse("110"),
	}

	return v1.NodeStatus{
		Capacity:    resources,
		Allocatable: resources,
		Images:      nodeImages(),
		Addresses:   nodeAddresses(spec),
		Conditions:  nodeConditions(spec.Ready),
		NodeInfo: v1.NodeSystemInfo{
			SystemUUID:              spec.SystemUUID,
			KubeletVersion:          KubernetesVersion,
			OperatingSystem:         "linux",
			Architecture:            "amd64",
			OSImage:                 "Debian GNU/Linux 13 (trixie)",
			KernelVersion:           "6.12.0",
			ContainerRuntimeVersion: "containerd://2.1.0",
		},
	}
}

func nodeAddresses(spec NodeSpec) []v1.NodeAddress {
	addresses := []v1.NodeAddress{}
	for _, ip := range spec.NodeIPs {
		addresses = append(addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
	}

	return append(addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: spec.Name})
}

func nodeConditions(ready v1.ConditionStatus) []v1.NodeCondition {
	if ready == "" {
		ready = v1.ConditionTrue
	}

	all := []v1.NodeCondition{
		condition(v1.NodeMemoryPressure, v1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(v1.NodeDiskPressure, v1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(v1.NodePIDPressure, v1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		readyCondition(ready),
	}
	for i := range conditions {
		kind := v1.NodeConditionType(fmt.Sprintf("Problem%d", i))
		all = append(all, condition(kind, v1.ConditionFalse, "NoProblem", "the node problem detector has found no problem of this kind"))
	}

	return all
}

func readyCondition(status v1.ConditionStatus) v1.NodeCondition {
	switch status {
	case v1.ConditionTrue:
		return condition(v1.NodeReady, status, "KubeletReady", "kubelet is posting ready status")
	case v1.ConditionFalse:
		return condition(v1.NodeReady, status, "KubeletNotReady", "container runtime network not ready")
	default:
		return condition(v1.NodeReady, status, "NodeStatusUnknown", "kubelet stopped posting node status")
	}
}

func condition(kind v1.NodeConditionType, status v1.ConditionStatus, reason, message string) v1.NodeCondition {
	now := metav1.Now()

	return v1.NodeCondition{
		Type:               kind,
		Status:             status,
		Reason:             reason,
		Message:            message,
		LastHeartbeatTime:  now,
		LastTransitionTime: now,
	}
}
