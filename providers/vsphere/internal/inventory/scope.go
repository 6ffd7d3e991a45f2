package inventory

import (
	"fmt"
	"maps"
	"path"
	"strings"
)

// scope is the set of datacenters whose VMs count.
type scope struct {
	all     bool
	in      map[Ref]bool
	missing []string // configured, but not there
}

func (s scope) contains(dc *ancestor) bool { return s.all || dc != nil && s.in[dc.ref] }

// equal reports whether the same VMs count.
func (s scope) equal(other scope) bool { return s.all == other.all && maps.Equal(s.in, other.in) }

// doubt returns why a VM can exist that the scope does not show.
func (s scope) doubt() error {
	if len(s.missing) > 0 {
		return fmt.Errorf("datacenter %s does not exist or cannot be read", strings.Join(s.missing, ", "))
	}
	if len(s.in) == 0 {
		return errNoDatacenter
	}

	return nil
}

// scope finds the configured datacenters: each is a name, an inventory path,
// "Datacenter:" and a managed object ID, or that ID alone. A name can mean
// several datacenters in different folders, which then all count.
func (t *tree) scope(configured []string) scope {
	s := scope{all: len(configured) == 0, in: map[Ref]bool{}}
	if s.all {
		for dc := range t.datacenters {
			s.in[dc.ref] = true
		}
	}
	for _, want := range configured {
		found := t.datacentersOf(want)
		if len(found) == 0 {
			s.missing = append(s.missing, want)
		}
		for _, r := range found {
			s.in[r] = true
		}
	}

	return s
}

// datacentersOf finds what one configured entry means. A name wins over an ID.
func (t *tree) datacentersOf(want string) []Ref {
	var named []Ref
	for dc := range t.datacenters {
		if dc.name == want || strings.Contains(want, "/") && inventoryPath(dc) == path.Clean("/"+want) {
			named = append(named, dc.ref)
		}
	}
	if len(named) > 0 {
		return named
	}
	byID := Ref{Type: typeDatacenter, Value: strings.TrimPrefix(want, typeDatacenter+":")}
	if dc, ok := t.ancestors[byID]; ok && dc.known {
		return []Ref{byID}
	}

	return nil
}
