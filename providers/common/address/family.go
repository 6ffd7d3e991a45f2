package address

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Family is a family of IP addresses.
type Family string

// The families.
const (
	IPv4 Family = "ipv4"
	IPv6 Family = "ipv6"
)

// FamilyOf returns the family of addr: "" if that is the zero Addr.
func FamilyOf(addr netip.Addr) Family {
	switch addr = addr.Unmap(); {
	case addr.Is4():
		return IPv4
	case addr.Is6():
		return IPv6
	default:
		return ""
	}
}

// ParseFamily reads the name of a family, whatever its case and the blanks
// around it.
func ParseFamily(name string) (Family, error) {
	switch f := Family(strings.ToLower(strings.TrimSpace(name))); f {
	case IPv4, IPv6:
		return f, nil
	default:
		return "", fmt.Errorf("unknown IP family %q: want ipv4 or ipv6", name)
	}
}

// ParseFamilies reads families in order of preference from values that are each
// one name or a comma-separated list. Empty values are skipped, empty items of
// a list and repetitions are errors. Without any family the result is nil.
func ParseFamilies(values ...string) ([]Family, error) {
	var families []Family
	for _, value := range values {
		if strings.TrimSpace(value) == "" {
			continue
		}
		for name := range strings.SplitSeq(value, ",") {
			f, err := ParseFamily(name)
			if err != nil {
				return nil, err
			}
			if slices.Contains(families, f) {
				return nil, fmt.Errorf("IP family %s is given twice", f)
			}
			families = append(families, f)
		}
	}

	return families, nil
}

// OfFamily returns the items whose address is of that family.
func OfFamily[T any](family Family, items []T, addr func(T) netip.Addr) []T {
	return lists.Filter(items, func(item T) bool { return FamilyOf(addr(item)) == family })
}
