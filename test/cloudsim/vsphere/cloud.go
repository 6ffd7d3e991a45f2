package vsphere

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/utils/clock"
)

// Cloud is a running fleet of simulated vCenters.
type Cloud struct {
	vcenters []*VCenter
}

// Start builds the inventory of the spec and listens. Close ends it.
func Start(spec Spec) (*Cloud, error) {
	cloud := &Cloud{}
	directories := spec.directories()
	for i := range spec.VCenters {
		v, err := startVCenter(spec.VCenters[i], directories[spec.VCenters[i].Name])
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start vcenter %q: %w", spec.VCenters[i].Name, err), cloud.Close())
		}
		cloud.vcenters = append(cloud.vcenters, v)
	}

	return cloud, nil
}

// directories returns the directory of each vCenter by its name.
func (s *Spec) directories() map[string]*directory {
	var c clock.PassiveClock = clock.RealClock{}
	if s.Clock != nil {
		c = s.Clock
	}
	byName := make(map[string]*directory)
	for i := range s.VCenters {
		v := &s.VCenters[i]
		byName[v.Name] = newDirectory(cmp.Or(v.User, defaultUser), cmp.Or(v.Password, defaultPassword), c)
	}
	for _, group := range s.Linked {
		for _, name := range group {
			byName[name] = byName[group[0]]
		}
	}

	return byName
}

// Close stops all vCenters and waits for the calls in progress.
func (c *Cloud) Close() error {
	var problems []error
	for _, v := range c.vcenters {
		problems = append(problems, v.close())
	}

	return errors.Join(problems...)
}

// VCenters returns all vCenters in the order of the spec.
func (c *Cloud) VCenters() []*VCenter { return c.vcenters }

// VCenter returns a vCenter by name. It panics when there is none: the
// test wrote the spec and knows its names.
func (c *Cloud) VCenter(name string) *VCenter {
	for _, v := range c.vcenters {
		if v.name == name {
			return v
		}
	}
	panic(fmt.Sprintf("simulated cloud has no vcenter %q", name))
}

// VM returns the first VM of that name, in the order of the vCenters. It panics
// when there is none, as [Cloud.VCenter] does.
func (c *Cloud) VM(name string) *VM {
	for _, v := range c.vcenters {
		if vm := v.find(name); vm != nil {
			return vm
		}
	}
	panic(fmt.Sprintf("simulated cloud has no vm %q", name))
}
