package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/config"
	controllermanager "k8s.io/controller-manager/app"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// emptied is a source whose machines have all gone but one.
type emptied struct{ instance.Source }

func (emptied) Accepts(string) error { return nil }

func (emptied) Lookup(_ context.Context, ref instance.Ref) instance.Result {
	if ref.ProviderID == "plain://left" {
		return instance.Found(left{})
	}

	return instance.Absent()
}

func (emptied) Confirm(context.Context, instance.Ref) instance.Result {
	return instance.Gone().From("west", "it was deleted")
}

type left struct{}

func (left) ProviderID() string    { return "plain://left" }
func (left) State() instance.State { return instance.Running }

// deletingCloud is a cloud with Nodes.
type deletingCloud struct {
	cloudprovider.Interface

	nodes *instance.V2
}

func (c deletingCloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c.nodes, true }

// TestDecisionsAreServed (FW-NODE-16): /configz of the framework has the decisions up to now. The framework
// serves it to clients that may get it.
func TestDecisionsAreServed(t *testing.T) {
	cloud := deletingCloud{nodes: instance.New(emptied{}, instance.Options{Provider: plainName, DeletionLimit: new(int32(1))})}
	for range 2 { // a second cloud of the process replaces the first one
		if err := serveDecisions(cloud); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"left", "a", "b"} {
		node := kubetest.Node(name, kubetest.ProviderID("plain://"+name), kubetest.CreatedAt(time.Now().Add(-time.Hour)))
		if exists, err := cloud.nodes.InstanceExists(t.Context(), node); exists != (name == "left") || (err != nil) != (name == "b") {
			t.Errorf("%s: exists %t, %v", name, exists, err)
		}
	}
	var served struct {
		NodeDeletions struct {
			Kind      string
			Decisions []instance.Decision
		}
	}
	response := httptest.NewRecorder()
	controllermanager.NewBaseHandler(&config.DebuggingConfiguration{}, http.NotFoundHandler()).
		ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/configz", nil))
	if err := json.Unmarshal(response.Body.Bytes(), &served); err != nil {
		t.Fatalf("%v: %s", err, response.Body)
	}
	got := served.NodeDeletions.Decisions
	if len(got) != 2 || got[0].Node != "a" || got[0].Held || got[1].Node != "b" || !got[1].Held || got[1].Reports[0].Said != "it was deleted" {
		t.Errorf("%s", response.Body)
	}
	if err := serveDecisions(&noInstances{}); err != nil {
		t.Errorf("a cloud without instances: %v", err)
	}
}
