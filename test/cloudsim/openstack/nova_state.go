package openstack

import (
	"maps"
	"slices"
	"time"
)

// novaState is the state of Nova in a region.
type novaState struct {
	servers table[server]
}

// server is a virtual machine.
type server struct {
	id, name          string
	projectID, userID string
	status            string // as responses have it: ACTIVE
	flavor            string // name
	zone              string
	metadata          map[string]string
	accessIPv4        string
	accessIPv6        string
	created, updated  time.Time
	addresses         []address // set by [Cloud.plug]
	given             bool      // made by a test
}

func newNovaState(*Cloud, *region) *novaState { return &novaState{} }

// clone returns a copy that shares nothing that changes.
func (s *novaState) clone() *novaState {
	return &novaState{servers: s.servers.clone(func(s *server) {
		s.metadata, s.addresses = maps.Clone(s.metadata), slices.Clone(s.addresses)
	})}
}

func (s *novaState) leaks() []string     { return nil }
func (s *novaState) resources() []string { return nil }
func (s *novaState) dump() []string      { return nil }
