package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/configz"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// decisionsName is the part of /configz with the decisions about the deletion of Nodes.
// The framework serves it to clients that may get that path, and has no other place for
// what a controller of a cloud knows: unlike kube-controller-manager, it serves nothing
// below /debug/controllers.
const decisionsName = "nodeDeletions"

// decisions are the decisions as they are when /configz is read.
type decisions struct {
	metav1.TypeMeta

	current func() []instance.Decision
}

// serveDecisions adds the decisions of a cloud to /configz.
func serveDecisions(cloud cloudprovider.Interface) error {
	instances, _ := cloud.InstancesV2()
	v2, ok := instances.(*instance.V2)
	if !ok {
		return nil
	}
	configz.Delete(decisionsName) // a process has one cloud
	part, err := configz.New(decisionsName)
	if err != nil {
		return err
	}

	return part.Set(&decisions{
		TypeMeta: metav1.TypeMeta{Kind: "NodeDeletions", APIVersion: "multicloud-ccm.io/v1alpha1"}, current: v2.Decisions,
	})
}

// DeepCopyObject implements runtime.Object.
func (d *decisions) DeepCopyObject() runtime.Object { return new(*d) }

// MarshalJSON writes the present decisions, the oldest first.
func (d *decisions) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		metav1.TypeMeta `json:",inline"`

		Decisions []instance.Decision `json:"decisions"`
	}{d.TypeMeta, d.current()})
}
