package request

import (
	"slices"
	"strconv"
)

// everyPort is the value of the annotation that selects all ports, as does an
// empty list.
const everyPort = "*"

// selects reports whether the list names the port, by number or by name.
func (t TLS) selects(p Port) bool {
	return len(t.Ports) == 0 || slices.ContainsFunc(t.Ports, p.isNamed)
}

// isNamed reports whether an item of the list means this port.
func (p Port) isNamed(item string) bool {
	return item == strconv.Itoa(int(p.Port)) || p.Name != "" && item == p.Name
}
