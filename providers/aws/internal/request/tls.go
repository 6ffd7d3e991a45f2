package request

import (
	"slices"
	"strconv"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// everyPort is the value of the annotation that selects all ports, like an
// empty list.
const everyPort = "*"

// selects reports whether the list contains the port, by number or by name.
func (t TLS) selects(p service.Port) bool {
	return len(t.Ports) == 0 || slices.ContainsFunc(t.Ports, func(item string) bool { return names(item, p) })
}

// names reports whether an item of the list selects a port.
func names(item string, p service.Port) bool {
	return item == strconv.Itoa(int(p.Port)) || p.Name != "" && item == p.Name
}
