package main

import (
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// FW-API-2: what a Node keeps is everything outside of its status but managed fields, since all of that is written back.
func TestTrim(t *testing.T) {
	t.Parallel()
	managed := metav1.ObjectMeta{Name: "a", Labels: map[string]string{}, Annotations: map[string]string{"b": "c"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}}
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	node := &v1.Node{ObjectMeta: managed, Spec: v1.NodeSpec{ProviderID: "id"}, Status: v1.NodeStatus{
		Images: []v1.ContainerImage{{Names: []string{"image"}}}, Capacity: list, Allocatable: list,
		Conditions: []v1.NodeCondition{
			{Type: v1.NodeReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.Now(), Reason: "r", Message: "m"},
			{Type: v1.NodeNetworkUnavailable, Status: v1.ConditionFalse, Reason: "r", Message: "m"},
			{Type: v1.NodeDiskPressure, Status: v1.ConditionFalse},
		},
		Addresses: []v1.NodeAddress{{Address: "10.0.0.1"}}, NodeInfo: v1.NodeSystemInfo{SystemUUID: "u"},
	}}
	want := node.DeepCopy()
	want.ManagedFields = nil
	want.Status.Images, want.Status.Capacity, want.Status.Allocatable = nil, nil, nil
	want.Status.Conditions = want.Status.Conditions[:2]
	if got, err := trim(node); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	service := &v1.Service{ObjectMeta: managed, Status: v1.ServiceStatus{Conditions: []metav1.Condition{{Reason: "r"}}}}
	left := service.DeepCopy()
	left.ManagedFields = nil
	if got, err := trim(service); err != nil || !reflect.DeepEqual(got, left) {
		t.Errorf("%+v, %v", got, err)
	}
	gone := cache.DeletedFinalStateUnknown{Key: "a", Obj: node}
	if got, err := trim(gone); err != nil || !reflect.DeepEqual(got, gone) {
		t.Errorf("%+v, %v", got, err)
	}
}
