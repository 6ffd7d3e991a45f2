package conformance

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	cloudprovider "k8s.io/cloud-provider"
)

// identityCases are about finding a node's instance and describing it.
func identityCases() []nodeCase {
	return []nodeCase{
		{name: "a node is initialized by its providerID", run: initializedByID},
		{name: "a node is initialized as kubelet registers it", run: initializedAsRegistered},
		{
			name: "a node is initialized by its system UUID", run: initializedByUUID,
			leftOut: func(without Capabilities) bool { return without.SystemUUID },
		},
		{
			name: "a node is initialized by its name", run: initializedByName,
			leftOut: func(without Capabilities) bool { return without.NodeName },
		},
		{name: "a providerID is echoed as written", run: echoesProviderID},
		{
			name: "two instances of one name are an error", run: twinsAreAnError,
			leftOut: func(without Capabilities) bool { return without.Twins || without.NodeName },
		},
		{name: "an instance made later is found", run: findsLaterInstance},
		{name: "metadata is the caller's own", run: metadataIsOwn},
		{name: "a missing instance is InstanceNotFound", run: missingIsNotFound},
	}
}

// initialize waits until the machine's Node has metadata, and checks them.
func (b *fixture) initialize(m machine, options ...nodeOption) *cloudprovider.InstanceMetadata {
	b.t.Helper()

	return b.describe(m, newNode(m.Ref, append([]nodeOption{tainted}, options...)...))
}

// describe waits until the node has metadata, and checks that they are those of
// the machine.
func (b *fixture) describe(m machine, node *v1.Node) *cloudprovider.InstanceMetadata {
	b.t.Helper()
	var got *cloudprovider.InstanceMetadata
	b.eventually("InstanceMetadata of "+m.ProviderID, func() error {
		var err error
		got, err = b.metadata(node)
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
		b.t.Errorf("InstanceMetadata of %s: %v", m.ProviderID, err)
	}

	return got
}

// checkMetadata says what is wrong with the metadata of a machine.
func checkMetadata(got *cloudprovider.InstanceMetadata, providerID string, m machine) error {
	var wrong []error
	note := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if got.ProviderID != providerID {
		note("providerID is %q, want %q", got.ProviderID, providerID)
	}
	for i, address := range got.NodeAddresses {
		if address.Address == "" || slices.Contains(got.NodeAddresses[:i], address) {
			note("the API server refuses address %q: empty or twice", address)
		}
	}
	for _, ip := range m.ips {
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
			note("the API server refuses label key %q: %v", key, problems)
		}
	}
	for _, value := range values {
		if problems := validation.IsValidLabelValue(value); problems != nil {
			note("the API server refuses label value %q: %v", value, problems)
		}
	}

	return errors.Join(wrong...)
}

func initializedByID(b *fixture) {
	m := b.create()
	b.connect()
	b.initialize(m, withName("another-name"), withUUID(""))
}

// initializedAsRegistered: no providerID, but all that kubelet knows.
func initializedAsRegistered(b *fixture) {
	b.create()
	m := b.create()
	b.connect()
	b.initialize(m, withID(""), young)
}

func initializedByUUID(b *fixture) {
	b.create()
	m := b.create()
	b.connect()
	b.initialize(m, withID(""), withName("another-name"))
}

func initializedByName(b *fixture) {
	b.create()
	m := b.create()
	b.connect()
	b.initialize(m, withID(""), withUUID(""))
}

// echoesProviderID: the field cannot be changed; the framework relies on it.
func echoesProviderID(b *fixture) {
	m := b.create()
	b.connect()
	b.initialize(m)
	for _, id := range append(b.suite.Respell(m.ProviderID), m.ProviderID) {
		b.describe(m, newNode(m.Ref, withID(id)))
		node := newNode(m.Ref, withID(id))
		if exists, err := b.exists(node); !exists || err != nil {
			b.t.Errorf("InstanceExists of %q is %t, %v", id, exists, err)
		}
	}
}

// twinsAreAnError: which of them it is would be written down for good.
func twinsAreAnError(b *fixture) {
	one, two := b.createNamed("twin"), b.createNamed("twin")
	b.connect()
	b.initialize(one)
	b.initialize(two)
	node := newNode(one.Ref, withID(""), withUUID(""), tainted)
	b.always(func() {
		r := b.ask(node)[0]
		if r.gone() || r.shutdown {
			b.t.Errorf("exists %t, %v; shutdown %t", r.exists, r.existsErr, r.shutdown)
		}
		if r.metadataErr == nil {
			b.t.Errorf("InstanceMetadata chose %v of two", r.metadata)
		}
	})
}

func findsLaterInstance(b *fixture) {
	b.connect()
	b.initialize(b.create())
	b.initialize(b.create())
	b.initialize(b.create(), withID(""), young)
}

// metadataIsOwn: the framework appends to the addresses.
func metadataIsOwn(b *fixture) {
	m := b.create()
	b.connect()
	first := b.initialize(m)
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
	if diff := cmp.Diff(&want, b.initialize(m)); diff != "" {
		b.t.Errorf("metadata are shared between answers (-first +second):\n%s", diff)
	}
}

// missingIsNotFound: the framework knows the error by that name.
func missingIsNotFound(b *fixture) {
	m, other := b.create(), b.create()
	b.cloud.Delete(b.t, m.Ref)
	b.connect()
	b.initialize(other)
	node := newNode(m.Ref, tainted)
	b.eventually("InstanceMetadata of a deleted instance is InstanceNotFound", func() error {
		got, err := b.metadata(node)
		if errors.Is(err, cloudprovider.InstanceNotFound) {
			return nil
		}

		return fmt.Errorf("got %v, %w", got, err)
	})
}
