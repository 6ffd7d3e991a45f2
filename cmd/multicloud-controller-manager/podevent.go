package main

import (
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

// refusedReason is the reason of Events about a changed cloud-config that the cloud refuses.
const refusedReason = "CloudConfigRefused"

// podWarner returns the function that records a refusal as an Event of the Pod of this process. It
// records none outside of a Pod.
func podWarner(recorder record.EventRecorder) func(error) {
	pod := &v1.ObjectReference{
		APIVersion: "v1", Kind: "Pod",
		Namespace: os.Getenv("POD_NAMESPACE"), Name: os.Getenv("POD_NAME"), UID: types.UID(os.Getenv("POD_UID")),
	}

	return func(refusal error) {
		if pod.Name != "" && pod.Namespace != "" {
			recorder.Eventf(pod, v1.EventTypeWarning, refusedReason,
				"The changed cloud-config is not used, the former one stays in use: %v", refusal)
		}
	}
}
