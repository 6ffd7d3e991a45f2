package address

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Prefixes is a list of CIDRs in order of preference.
type Prefixes []netip.Prefix

// ParsePrefixes reads a list of CIDRs, separated by commas or blanks. Empty
// items are skipped; bits behind the prefix are cleared. On an error, which
// names every bad item, the good ones are still given.
func ParsePrefixes(text string) (Prefixes, error) {
	var prefixes Prefixes
	var errs []error
	for _, item := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		p, err := netip.ParsePrefix(item)
		if err != nil {
			errs = append(errs, fmt.Errorf("%q is not an address block such as 192.0.2.0/24", item))

			continue
		}
		prefixes = append(prefixes, canonicalPrefix(p))
	}

	return prefixes, errors.Join(errs...)
}

// canonicalPrefix clears the host bits and converts ::ffff:192.0.2.0/120 into
// 192.0.2.0/24.
func canonicalPrefix(p netip.Prefix) netip.Prefix {
	const mapped = 96
	if p.Addr().Is4In6() && p.Bits() >= mapped {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mapped)
	}

	return p.Masked()
}

// Rank returns the index of the first prefix that contains addr, or the number of
// prefixes if none does.
func (p Prefixes) Rank(addr netip.Addr) int {
	addr = addr.Unmap()
	i := slices.IndexFunc(p, func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
	if i < 0 {
		return len(p)
	}

	return i
}

// Contain reports whether any prefix contains addr.
func (p Prefixes) Contain(addr netip.Addr) bool { return p.Rank(addr) < len(p) }

// First returns the preferred item: of all whose address is in the first prefix
// that contains any, the one that comes first.
func First[T any](p Prefixes, items []T, addr func(T) netip.Addr) (found T, ok bool) {
	best := len(p)
	for _, item := range items {
		if rank := p.Rank(addr(item)); rank < best {
			best, found, ok = rank, item, true
		}
	}

	return found, ok
}

// OutOf returns the items whose address no prefix contains.
func OutOf[T any](p Prefixes, items []T, addr func(T) netip.Addr) []T {
	return lists.Filter(items, func(item T) bool { return !p.Contain(addr(item)) })
}
