package openstack

// neutronState is the state of Neutron in a region.
type neutronState struct{}

func newNeutronState(*Cloud, *region) *neutronState { return &neutronState{} }

// clone returns a copy that shares nothing that changes.
func (s *neutronState) clone() *neutronState { return &neutronState{} }

func (s *neutronState) leaks() []string     { return nil }
func (s *neutronState) resources() []string { return nil }
func (s *neutronState) dump() []string      { return nil }
