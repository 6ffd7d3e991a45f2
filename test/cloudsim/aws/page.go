package aws

import (
	"encoding/base64"
	"slices"
	"strings"
)

// pager is how an operation splits its result into pages.
type pager struct {
	token, size string // parameters
	low, high   int    // allowed sizes
	standard    int    // size when none is given; 0 is everything
	badToken    string // error code
	badSize     string // error code
}

// ec2Pager is what most EC2 operations do.
var ec2Pager = pager{
	token: "NextToken", size: "MaxResults", low: 5, high: 1000,
	badToken: "InvalidNextToken", badSize: "InvalidParameterValue",
}

// page returns the wanted part of items, which are in the order of their keys,
// and the token of the part after it. Tokens name the last key that was given
// out, so that no resource is lost when others are created or deleted between
// pages.
func page[T any](c *Cloud, p params, by pager, items []T, key func(T) string) ([]T, *string, error) {
	size, err := p.int32(by.size)
	if err != nil {
		return nil, nil, err
	}
	limit := by.standard
	if size != nil {
		limit = int(*size)
		if limit < by.low || limit > by.high {
			return nil, nil, fail(by.badSize, "Value ( %d ) for parameter %s is invalid. Expecting a value between %d and %d.", limit, by.size, by.low, by.high)
		}
	}
	if c.opts.PageSize > 0 && (limit == 0 || limit > c.opts.PageSize) && (size != nil || by.standard > 0) {
		limit = c.opts.PageSize
	}
	if token := p.str(by.token); token != "" {
		last, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil || !strings.HasPrefix(string(last), tokenMark) {
			return nil, nil, fail(by.badToken, "The token '%s' is invalid.", token)
		}
		from, found := slices.BinarySearchFunc(items, strings.TrimPrefix(string(last), tokenMark), func(item T, last string) int {
			return strings.Compare(key(item), last)
		})
		if found {
			from++
		}
		items = items[from:]
	}
	if limit == 0 || len(items) <= limit {
		return items, nil, nil
	}
	next := base64.RawURLEncoding.EncodeToString([]byte(tokenMark + key(items[limit-1])))

	return items[:limit], &next, nil
}

// tokenMark marks our tokens among other text that decodes.
const tokenMark = "after:"
