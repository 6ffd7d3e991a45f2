package loadbalancers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
)

// planFixture is an observed section: what exists in NSX-T and in the cluster before a Service is synced. What it leaves out
// is as in observed.yaml, and then as in the files that From lists; null removes what those have.
type planFixture struct {
	From []string
	// Delete reports whether the Service is deleted.
	Delete bool

	Cluster  string
	Settings request.Config
	// Nodes are the internal addresses of the Nodes of the cluster by name.
	Nodes map[string][]string
	// Status are the addresses in the status of the Service.
	Status []string

	// Objects are those of the manager by path. Paths and IDs are added.
	Objects map[string]nsx.Object
	// Unseen are the paths of objects that the search does not show yet, and Gone of those that it still shows.
	Unseen, Gone []string
	// Changed are fields of objects that the search does not show yet.
	Changed map[string]nsx.Object
}

// settings are the settings with the names of the classes.
func (f *planFixture) settings() request.Config {
	settings := f.Settings
	settings.Classes = map[string]request.Class{}
	for name, class := range f.Settings.Classes {
		class.Name = name
		settings.Classes[name] = class
	}

	return settings
}

// nodes are the Nodes of the Kubernetes API.
func (f *planFixture) nodes() []*v1.Node {
	var all []*v1.Node
	for _, name := range slices.Sorted(maps.Keys(f.Nodes)) {
		var options []kubetest.NodeOption
		for _, ip := range f.Nodes[name] {
			options = append(options, kubetest.Address(v1.NodeInternalIP, ip))
		}
		all = append(all, kubetest.Node(name, options...))
	}

	return all
}

// object returns an object as the manager returns it.
func (f *planFixture) object(objectPath string) nsx.Object {
	o := maps.Clone(f.Objects[objectPath])
	for field, value := range map[string]string{"path": objectPath, "id": path.Base(objectPath)} {
		o[field], _ = json.Marshal(value) // a text
	}

	return o
}

// manager is the API of a manager for what only reads. It records what is read by its path.
type manager struct {
	API

	fixture *planFixture
	reads   []string
}

func (m *manager) Search(_ context.Context, _ string, each func(json.RawMessage) error) error {
	for _, objectPath := range slices.Sorted(maps.Keys(m.fixture.Objects)) {
		if slices.Contains(m.fixture.Unseen, objectPath) {
			continue
		}
		row, err := json.Marshal(m.fixture.object(objectPath))
		if err = errors.Join(err, each(row)); err != nil {
			return err
		}
	}

	return nil
}

func (m *manager) List(_ context.Context, collection string) ([]nsx.Object, error) {
	var rows []nsx.Object
	for _, objectPath := range slices.Sorted(maps.Keys(m.fixture.Objects)) {
		if path.Dir(objectPath) == collection {
			rows = append(rows, m.fixture.object(objectPath))
		}
	}

	return rows, nil
}

func (m *manager) Get(_ context.Context, objectPath string) (nsx.Object, error) {
	m.reads = append(m.reads, objectPath)
	if m.fixture.Objects[objectPath] == nil || slices.Contains(m.fixture.Gone, objectPath) {
		return nil, fmt.Errorf("%s: %w", objectPath, apierr.ErrNotFound)
	}
	o := m.fixture.object(objectPath)
	maps.Copy(o, m.fixture.Changed[objectPath])

	return o, nil
}
