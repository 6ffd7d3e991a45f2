package instance_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	cloudprovider "k8s.io/cloud-provider"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

func equal[T any](a, b T) bool { return cmp.Equal(a, b) }

// describing makes a source whose metadata is m.
func describing(id string, m *cloudprovider.InstanceMetadata, err error) *source {
	s := newSource(instance.Found(machine{id: id, state: instance.Running}), instance.Absent())
	s.metadata = func(context.Context, *v1.Node, instance.Instance) (*cloudprovider.InstanceMetadata, error) {
		return m, err
	}

	return s
}

// TestProviderID proves which ID a node gets.
func TestProviderID(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason    string
		node      string
		canonical string
		source    string
		want      string
		wantErr   bool
	}{
		"Canonical":    {"a node without ID gets the canonical one", "", ownID, "", ownID, false},
		"NotMetadatas": {"what the metadata holds does not matter", "", ownID, "sim://other", ownID, false},
		"Echoed":       {"FW-ID-4: an ID is kept as written", bareID, ownID, "", bareID, false},
		"EchoedAlways": {"even if the canonical one is wrong", ownID, "", "", ownID, false},
		"None":         {"an empty ID would leave the node without for good", "", "", "", "", true},
		"Schemeless":   {"an ID without scheme would be no cloud's", "", bareID, "", "", true},
		"Foreign":      {"an ID of another cloud would be foreign", "", "aws:///a/i-1", "", "", true},
		"WrongCase":    {"a scheme is written in one way", "", "SIM://one", "", "", true},
		"Refused":      {"an ID that we do not accept would be lost", "", "sim://a/b", "", "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := describing(tc.canonical, &cloudprovider.InstanceMetadata{ProviderID: tc.source}, nil)
			got, err := newV2(s).InstanceMetadata(t.Context(), newNode(tc.node))
			if (err != nil) != tc.wantErr || (got == nil) != tc.wantErr {
				t.Fatalf("%s: got %v, %v", tc.reason, got, err)
			}
			if got != nil && got.ProviderID != tc.want {
				t.Errorf("%s: got %q", tc.reason, got.ProviderID)
			}
		})
	}
}

// TestMetadataPasses proves what becomes of a Source's metadata.
func TestMetadataPasses(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("a", 62) + "-b"
	in := func(addressType v1.NodeAddressType, address string) v1.NodeAddress {
		return v1.NodeAddress{Type: addressType, Address: address}
	}
	cases := map[string]struct {
		reason string
		source *cloudprovider.InstanceMetadata
		err    error
		want   *cloudprovider.InstanceMetadata
	}{
		"Whole": {
			reason: "what is fine is not changed",
			source: &cloudprovider.InstanceMetadata{
				InstanceType: "m5.large", Zone: "us-east-1a", Region: "us-east-1",
				NodeAddresses:    []v1.NodeAddress{in(v1.NodeHostName, "a"), in(v1.NodeInternalIP, "10.0.0.1"), in(v1.NodeExternalIP, "10.0.0.1")},
				AdditionalLabels: map[string]string{"example.com/rack": "r1", "plain": ""},
			},
			want: &cloudprovider.InstanceMetadata{
				ProviderID: ownID, InstanceType: "m5.large", Zone: "us-east-1a", Region: "us-east-1",
				NodeAddresses:    []v1.NodeAddress{in(v1.NodeHostName, "a"), in(v1.NodeInternalIP, "10.0.0.1"), in(v1.NodeExternalIP, "10.0.0.1")},
				AdditionalLabels: map[string]string{"example.com/rack": "r1", "plain": ""},
			},
		},
		"Labels": {
			reason: "FW-LABEL-1: one invalid label value makes the API server reject the whole update",
			source: &cloudprovider.InstanceMetadata{
				InstanceType: "m1 (large)", Zone: long, Region: "über",
				AdditionalLabels: map[string]string{"ok": "a/b", "not a key": "x", "": "y"},
			},
			want: &cloudprovider.InstanceMetadata{
				ProviderID: ownID, InstanceType: "m1-large", Zone: strings.Repeat("a", 62), Region: "ber",
				AdditionalLabels: map[string]string{"ok": "a-b"},
			},
		},
		"Addresses": {
			reason: "the API server rejects an address that is listed twice",
			source: &cloudprovider.InstanceMetadata{NodeAddresses: []v1.NodeAddress{
				in(v1.NodeInternalIP, "10.0.0.2"), in(v1.NodeInternalIP, ""), in(v1.NodeInternalIP, "10.0.0.1"), in(v1.NodeInternalIP, "10.0.0.2"),
			}},
			want: &cloudprovider.InstanceMetadata{ProviderID: ownID, NodeAddresses: []v1.NodeAddress{
				in(v1.NodeInternalIP, "10.0.0.2"), in(v1.NodeInternalIP, "10.0.0.1"),
			}},
		},
		"Empty": {
			reason: "nothing known is not nothing found",
			source: &cloudprovider.InstanceMetadata{},
			want:   &cloudprovider.InstanceMetadata{ProviderID: ownID},
		},
		"Nil":   {reason: "nil ends the process for an initialized node"},
		"Error": {reason: "an error is one", source: &cloudprovider.InstanceMetadata{Zone: "half"}, err: errCloud},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := newV2(describing(ownID, tc.source, tc.err)).InstanceMetadata(t.Context(), newNode(""))
			mustEqual(t, tc.reason, tc.want, got)
			if (err == nil) != (tc.want != nil) || tc.err != nil && !errors.Is(err, tc.err) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestMetadataIsACopy proves that the framework may write into what it gets.
func TestMetadataIsACopy(t *testing.T) {
	t.Parallel()

	addresses := append(make([]v1.NodeAddress, 0, 4), v1.NodeAddress{Type: v1.NodeInternalIP, Address: "10.0.0.1"})
	kept := &cloudprovider.InstanceMetadata{NodeAddresses: addresses, AdditionalLabels: map[string]string{"a": "b"}}
	v2 := newV2(describing(ownID, kept, nil))
	first, err := v2.InstanceMetadata(t.Context(), newNode(ownID))
	if err != nil {
		t.Fatal(err)
	}
	first.Zone = "mine"
	first.AdditionalLabels["a"] = "mine"
	first.NodeAddresses[0].Address = "mine"
	_ = append(first.NodeAddresses, v1.NodeAddress{Address: "mine"})

	mustEqual(t, "the source's labels", map[string]string{"a": "b"}, kept.AdditionalLabels)
	mustEqual(t, "the source's addresses",
		[]v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}, {}}, addresses[:2])
}

// TestMetadataIsAlwaysValid proves for any text that no label is rejected.
func TestMetadataIsAlwaysValid(t *testing.T) {
	t.Parallel()
	ctx := discardLogs(t)

	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9._/ ü-]{0,140}`))
		m := &cloudprovider.InstanceMetadata{
			InstanceType:     text.Draw(t, "type"),
			Zone:             text.Draw(t, "zone"),
			Region:           text.Draw(t, "region"),
			AdditionalLabels: rapid.MapOf(text, text).Draw(t, "labels"),
		}
		got, err := newV2(describing(ownID, m, nil)).InstanceMetadata(ctx, newNode(ownID))
		if err != nil {
			t.Fatal(err)
		}
		values := []string{got.InstanceType, got.Zone, got.Region}
		for key, value := range got.AdditionalLabels {
			values = append(values, value)
			if wrong := validation.IsQualifiedName(key); wrong != nil {
				t.Errorf("key %q: %v", key, wrong)
			}
		}
		for _, value := range values {
			if wrong := validation.IsValidLabelValue(value); wrong != nil {
				t.Errorf("value %q: %v", value, wrong)
			}
		}
		if valid := validation.IsValidLabelValue(m.Zone) == nil; valid && got.Zone != m.Zone {
			t.Errorf("zone %q became %q", m.Zone, got.Zone)
		}
	})
}
