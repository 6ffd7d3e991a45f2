package openstack

// octaviaState is the state of Octavia in a region.
type octaviaState struct{}

func newOctaviaState(*Cloud, *region) *octaviaState { return &octaviaState{} }

// clone returns a copy that shares nothing that changes.
func (s *octaviaState) clone() *octaviaState { return &octaviaState{} }

func (s *octaviaState) leaks() []string     { return nil }
func (s *octaviaState) resources() []string { return nil }
func (s *octaviaState) dump() []string      { return nil }
