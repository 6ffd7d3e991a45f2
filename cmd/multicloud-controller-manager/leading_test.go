package main

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	ccmconfig "k8s.io/cloud-provider/app/config"
	controllermanager "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/controller"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// A process leads once the framework starts a controller, not when it makes one.
func TestLeading(t *testing.T) {
	t.Parallel()
	var l leading
	started := 0
	own := map[string]app.ControllerInitFuncConstructor{"one": {
		InitContext: app.ControllerInitContext{ClientName: "client"},
		Constructor: func(initContext app.ControllerInitContext, _ *ccmconfig.CompletedConfig, _ cloudprovider.Interface) app.InitFunc {
			return func(context.Context, controllermanager.ControllerContext) (controller.Interface, bool, error) {
				started++

				return nil, initContext.ClientName == "client", nil
			}
		},
	}}
	one := l.observe(own)["one"]
	start := one.Constructor(one.InitContext, nil, nil)
	if l.Load() {
		t.Error("a process leads that has started no controller")
	}
	if _, ok, err := start(t.Context(), controllermanager.ControllerContext{}); err != nil || !ok || started != 1 || !l.Load() {
		t.Errorf("started %d times (%t, %v), leads %t", started, ok, err, l.Load())
	}
}

// FW-CONFIG-15: the Event of a refusal is one of the Pod, if there is one.
func TestPodWarner(t *testing.T) {
	recorder := record.NewFakeRecorder(2)
	recorder.IncludeObject = true
	podWarner(recorder)(errors.New("refused"))
	t.Setenv("POD_NAMESPACE", "kube-system")
	t.Setenv("POD_NAME", "ccm-1")
	t.Setenv("POD_UID", "uid")
	podWarner(recorder)(errors.New("refused"))
	events := kubetest.Events(recorder)
	want := v1.EventTypeWarning + " CloudConfigRefused The changed cloud-config is not used, the former one stays in use: refused involvedObject{kind=Pod,apiVersion=v1}"
	if len(events) != 1 || events[0] != want {
		t.Errorf("Events %q, want %q", events, want)
	}
}
