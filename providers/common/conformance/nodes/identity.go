package nodes

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// identityCases are about finding a node's instance and describing it.
func identityCases() []testCase {
	return []testCase{
		{Name: "a node is initialized by its providerID", Run: initializedByID},
		{Name: "a node is initialized as kubelet registers it", Run: initializedAsRegistered},
		{
			Name: "a node is initialized by its system UUID", Run: initializedByUUID,
			LeftOut: func(a Adapter) bool { return a.Without.SystemUUID },
		},
		{
			Name: "a node is initialized by its system UUID in capitals", Run: initializedByCapitals,
			LeftOut: func(a Adapter) bool { return a.Without.SystemUUID },
		},
		{
			Name: "a node is initialized by its system UUID in mixed-endian order", Run: initializedByMixedEndian,
			LeftOut: func(a Adapter) bool { return a.Without.SystemUUID || a.Without.MixedEndian },
		},
		{
			Name: "a node is initialized by its name", Run: initializedByName,
			LeftOut: func(a Adapter) bool { return a.Without.NodeName },
		},
		{Name: "a providerID is echoed as written", Run: echoesProviderID},
		{
			Name: "two instances of one name are an error", Run: duplicateNamesFail,
			LeftOut: func(a Adapter) bool { return a.Without.DuplicateNames || a.Without.NodeName },
		},
		{Name: "an instance made later is found", Run: findsLaterInstance},
		{Name: "metadata is the caller's own", Run: metadataIsOwn},
		{Name: "a missing instance is InstanceNotFound", Run: missingIsNotFound},
	}
}

// initialize waits until the machine's Node has metadata, and checks them.
func (f *fixture) initialize(m machine, options ...harness.NodeOption) *cloudprovider.InstanceMetadata {
	f.T.Helper()

	return f.describe(m, harness.NewNode(m.Ref, append([]harness.NodeOption{tainted}, options...)...))
}

// describe waits until the node has metadata, and checks that they are those of
// the machine.
func (f *fixture) describe(m machine, node *v1.Node) *cloudprovider.InstanceMetadata {
	f.T.Helper()
	var got *cloudprovider.InstanceMetadata
	f.Eventually("InstanceMetadata of "+m.ProviderID, func() error {
		var err error
		got, err = f.metadata(node)
		if err == nil && got == nil {
			err = errors.New("nil metadata for a node of this cloud")
		}

		return err
	})
	want := node.Spec.ProviderID
	if want == "" {
		want = m.ProviderID
	}
	if err := checkMetadata(got, want, m); err != nil {
		f.T.Errorf("InstanceMetadata of %s: %v", m.ProviderID, err)
	}

	return got
}

// checkMetadata returns what is wrong with the metadata of a machine.
func checkMetadata(got *cloudprovider.InstanceMetadata, providerID string, m machine) error {
	var wrong []error
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if got.ProviderID != providerID {
		note("providerID is %q, want %q", got.ProviderID, providerID)
	}
	for i, address := range got.NodeAddresses {
		if address.Address == "" || slices.Contains(got.NodeAddresses[:i], address) {
			note("the API server rejects address %q: empty or twice", address)
		}
	}
	for _, ip := range m.IPs {
		if !slices.ContainsFunc(got.NodeAddresses, func(a v1.NodeAddress) bool {
			return a.Address == ip && a.Type == v1.NodeInternalIP
		}) {
			note("InternalIP %s is missing in %v", ip, got.NodeAddresses)
		}
	}
	values := []string{got.InstanceType, got.Zone, got.Region}
	for key, value := range got.AdditionalLabels {
		values = append(values, value)
		if problems := validation.IsQualifiedName(key); problems != nil {
			note("the API server rejects label key %q: %v", key, problems)
		}
	}
	for _, value := range values {
		if problems := validation.IsValidLabelValue(value); problems != nil {
			note("the API server rejects label value %q: %v", value, problems)
		}
	}

	return errors.Join(wrong...)
}

func initializedByID(f *fixture) {
	m := f.Create()
	f.connect()
	f.initialize(m, withName("another-name"), withUUID(""))
}

// initializedAsRegistered: no providerID, but all that kubelet reports.
func initializedAsRegistered(f *fixture) {
	f.Create()
	m := f.Create()
	f.connect()
	f.initialize(m, harness.WithID(""), young)
}

func initializedByUUID(f *fixture) {
	f.Create()
	m := f.Create()
	f.connect()
	f.initialize(m, harness.WithID(""), withName("another-name"))
}

// initializedByCapitals: kubelet reports what the firmware has, in either case.
func initializedByCapitals(f *fixture) {
	f.Create()
	m := f.Create()
	f.connect()
	for _, uuid := range []string{strings.ToUpper(m.SystemUUID), strings.ToLower(m.SystemUUID)} {
		f.initialize(m, harness.WithID(""), withUUID(uuid), withName("another-name"))
	}
}

// initializedByMixedEndian: firmware before version 2.6 of the SMBIOS specification
// reports the first three groups in the other byte order
// (https://www.dmtf.org/standards/smbios, System Information).
func initializedByMixedEndian(f *fixture) {
	f.Create()
	m := f.Create()
	f.connect()
	swapped, err := mixedEndian(m.SystemUUID)
	if err != nil {
		f.T.Fatal(err)
	}
	f.initialize(m, harness.WithID(""), withUUID(swapped), withName("another-name"))
	f.initialize(m, harness.WithID(""), withUUID(strings.ToUpper(swapped)), withName("one-more-name"))
}

// mixedEndian reverses the bytes of the first three groups of a UUID.
func mixedEndian(uuid string) (string, error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil || len(raw) != 16 {
		return "", fmt.Errorf("the test cloud has a system UUID that is none: %q", uuid)
	}
	slices.Reverse(raw[:4])
	slices.Reverse(raw[4:6])
	slices.Reverse(raw[6:8])

	return fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]), nil
}

func initializedByName(f *fixture) {
	f.Create()
	m := f.Create()
	f.connect()
	f.initialize(m, harness.WithID(""), withUUID(""))
}

// echoesProviderID: the field of a Node can never be changed.
func echoesProviderID(f *fixture) {
	m := f.Create()
	f.connect()
	f.initialize(m)
	for _, id := range append(f.adapter.Spellings(m.ProviderID), m.ProviderID) {
		f.describe(m, harness.NewNode(m.Ref, harness.WithID(id)))
		node := harness.NewNode(m.Ref, harness.WithID(id))
		if exists, err := f.exists(node); !exists || err != nil {
			f.T.Errorf("InstanceExists of %q is %t, %v", id, exists, err)
		}
	}
}

// duplicateNamesFail: a wrong choice could never be corrected.
func duplicateNamesFail(f *fixture) {
	one, two := f.CreateNamed("same"), f.CreateNamed("same")
	f.connect()
	f.initialize(one)
	f.initialize(two)
	node := harness.NewNode(one.Ref, harness.WithID(""), withUUID(""), tainted)
	f.Always(func() {
		r := f.query(node)[0]
		if r.gone() || r.shutdown {
			f.T.Errorf("exists %t, %v; shutdown %t", r.exists, r.existsErr, r.shutdown)
		}
		if r.metadataErr == nil {
			f.T.Errorf("InstanceMetadata chose %v of two", r.metadata)
		}
	})
}

func findsLaterInstance(f *fixture) {
	f.connect()
	f.initialize(f.Create())
	f.initialize(f.Create())
	f.initialize(f.Create(), harness.WithID(""), young)
}

// metadataIsOwn: the node controllers append to the addresses.
func metadataIsOwn(f *fixture) {
	m := f.Create()
	f.connect()
	first := f.initialize(m)
	want := *first
	want.NodeAddresses = slices.Clone(first.NodeAddresses)
	want.AdditionalLabels = maps.Clone(first.AdditionalLabels)
	for i := range first.NodeAddresses {
		first.NodeAddresses[i].Address = "overwritten"
	}
	_ = append(first.NodeAddresses, v1.NodeAddress{Type: v1.NodeHostName, Address: "appended"})
	first.Zone, first.Region, first.InstanceType = "overwritten", "overwritten", "overwritten"
	for key := range first.AdditionalLabels {
		first.AdditionalLabels[key] = "overwritten"
	}
	if diff := cmp.Diff(&want, f.initialize(m)); diff != "" {
		f.T.Errorf("metadata are shared between results (-first +second):\n%s", diff)
	}
}

// missingIsNotFound: the node controllers compare with this error.
func missingIsNotFound(f *fixture) {
	m, other := f.Create(), f.Create()
	f.Cloud.Delete(f.T, m.Ref)
	f.connect()
	f.initialize(other)
	node := harness.NewNode(m.Ref, tainted)
	f.Eventually("InstanceMetadata of a deleted instance is InstanceNotFound", func() error {
		got, err := f.metadata(node)
		if errors.Is(err, cloudprovider.InstanceNotFound) {
			return nil
		}

		return fmt.Errorf("got %v, %w", got, err)
	})
}
