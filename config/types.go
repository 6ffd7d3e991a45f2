package config

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Duration is a time span with its unit, as in 30s or 5m. A bare number is
// rejected: readers of these files have disagreed about what it means.
type Duration time.Duration

// UnmarshalText reads a time span.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 30s or 5m", text)
	}
	*d = Duration(parsed)

	return nil
}

// String formats the time span.
func (d Duration) String() string {
	return time.Duration(d).String()
}

// List is a comma-separated list. Items are trimmed, empty ones are dropped,
// \, is a comma inside an item and \\ a backslash. Setting it again
// replaces it.
type List []string

// UnmarshalText reads a list.
func (l *List) UnmarshalText(text []byte) error {
	*l = nil
	var item strings.Builder
	for rest := string(text) + ","; rest != ""; rest = rest[1:] {
		switch {
		case strings.HasPrefix(rest, `\,`) && len(rest) > 2, strings.HasPrefix(rest, `\\`):
			item.WriteByte(rest[1])
			rest = rest[1:]
		case rest[0] == ',':
			if trimmed := strings.TrimSpace(item.String()); trimmed != "" {
				*l = append(*l, trimmed)
			}
			item.Reset()
		default:
			item.WriteByte(rest[0])
		}
	}

	return nil
}

// String formats the list as it is read.
func (l List) String() string {
	escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`)
	items := make([]string, len(l))
	for i, item := range l {
		items[i] = escape.Replace(item)
	}

	return strings.Join(items, ",")
}

// CIDRs is a comma-separated list of address blocks such as 10.0.0.0/8 or
// fd00::/64. Setting it again replaces it.
type CIDRs []netip.Prefix

// UnmarshalText reads the list. Host bits are cut off, as upstream does.
func (c *CIDRs) UnmarshalText(text []byte) error {
	var items List
	if err := items.UnmarshalText(text); err != nil {
		return err
	}
	*c = nil
	for _, item := range items {
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			return fmt.Errorf("%q is not an address block such as 10.0.0.0/8", item)
		}
		*c = append(*c, unmap(prefix).Masked())
	}

	return nil
}

// unmap converts a block of IPv4-mapped IPv6 addresses to the IPv4 block.
func unmap(prefix netip.Prefix) netip.Prefix {
	if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
		return netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}

	return prefix
}

// String formats the list as it is read.
func (c CIDRs) String() string {
	items := make([]string, len(c))
	for i, prefix := range c {
		items[i] = prefix.String()
	}

	return strings.Join(items, ",")
}
