package instance_test

import (
	"bytes"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// TestForeignNodes (FW-ID-1) proves for any providerID with another scheme that
// it costs nothing, that the node is never deleted or shut down, and that nil
// metadata is for tainted nodes only.
func TestForeignNodes(t *testing.T) {
	t.Parallel()
	ctx := discardLogs(t)

	rapid.Check(t, func(t *rapid.T) {
		scheme := rapid.OneOf(rapid.StringMatching(`[A-Za-z][A-Za-z0-9+.-]{0,12}`), rapid.StringMatching(`[^:]+`)).
			Filter(func(s string) bool { return !strings.EqualFold(strings.TrimSpace(s), provider) }).Draw(t, "scheme")
		id := scheme + "://" + rapid.String().Draw(t, "rest")
		s := newSource(instance.Absent(), instance.Absent())
		v2 := instance.New(s, instance.Options{Provider: provider, DeleteByName: rapid.Bool().Draw(t, "by name")})
		node := newNode(id)
		tainted := rapid.Bool().Draw(t, "tainted")
		if tainted {
			taint(node)
		}
		before := node.DeepCopy()

		exists, err := v2.InstanceExists(ctx, node)
		if !exists || err != nil {
			t.Errorf("exists %t, %v", exists, err)
		}
		shutdown, err := v2.InstanceShutdown(ctx, node)
		if shutdown || err != nil {
			t.Errorf("shutdown %t, %v", shutdown, err)
		}
		metadata, err := v2.InstanceMetadata(ctx, node)
		if err != nil || (metadata == nil) != tainted {
			t.Errorf("metadata %v, %v", metadata, err)
		}
		if metadata != nil && !equal(*metadata, cloudprovider.InstanceMetadata{}) {
			t.Errorf("metadata is not empty: %v", metadata)
		}
		if s.calls() != 0 {
			t.Errorf("%d calls", s.calls())
		}
		if !equal(before, node) {
			t.Error("the node was changed")
		}
	})
}

// TestMalformedIsNeverGone (FW-ID-3) proves that what is no cloud's ID is an
// error for every query, without a call.
func TestMalformedIsNeverGone(t *testing.T) {
	t.Parallel()
	ctx := discardLogs(t)

	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(
			rapid.StringMatching(`[^:]{1,20}`),
			rapid.StringMatching(`[Ss][Ii][Mm]://[a-z]{0,3}(/[a-z]*)*`),
			rapid.StringMatching(`://.*`),
			rapid.StringMatching(`[a-z]+:/?[^/]*`),
		).Filter(func(id string) bool {
			return newSource(instance.Absent(), instance.Absent()).Accepts(id) != nil
		}).Draw(t, "id")
		s := newSource(instance.Absent(), instance.Absent())
		v2 := instance.New(s, instance.Options{Provider: provider, DeleteByName: true})
		node := newNode(id)

		exists, existsErr := v2.InstanceExists(ctx, node)
		shutdown, shutdownErr := v2.InstanceShutdown(ctx, node)
		metadata, metadataErr := v2.InstanceMetadata(ctx, node)
		if exists || shutdown || metadata != nil {
			t.Errorf("exists %t, shutdown %t, metadata %v", exists, shutdown, metadata)
		}
		for _, err := range []error{existsErr, shutdownErr, metadataErr} {
			if instance.ReasonOf(err) != instance.ReasonInvalidProviderID {
				t.Errorf("error %v", err)
			}
		}
		if s.calls() != 0 {
			t.Errorf("%d calls", s.calls())
		}
	})
}

// TestForeignNodeIsLoggedOnce proves one log line per node and life.
func TestForeignNodeIsLoggedOnce(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out)))
	ctx := klog.NewContext(t.Context(), logger)
	v2 := newV2(newSource(instance.Absent(), instance.Absent()))
	first, second := newNode("kind://a"), newNode("kind://a")
	second.UID = types.UID("uid-2") // the node was made anew
	for range 3 {
		for _, node := range []*v1.Node{first, second} {
			if _, err := v2.InstanceExists(ctx, node); err != nil {
				t.Error(err)
			}
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2 || strings.Count(out.String(), "kind://a") != 2 {
		t.Errorf("%d lines:\n%s", lines, out.String())
	}
}
