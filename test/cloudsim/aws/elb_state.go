package aws

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// balancerPage is the largest page of every list of load balancer resources.
	balancerPage = 400
	// tagNames is how many load balancers one DescribeTags may name.
	tagNames = 20
	// tagLimit is how many tags a resource may have.
	tagLimit = 50
	// freeAddresses is what a subnet must have left for a load balancer.
	freeAddresses = 8
)

// markerPager is the paging of all lists of load balancer resources.
var markerPager = pager{
	token: "Marker", size: "PageSize", low: 1, high: balancerPage, standard: balancerPage,
	badToken: "ValidationError", badSize: "ValidationError",
}

// balancers is the state of both load balancer APIs. Cloud.mu guards it.
type balancers struct {
	classics  map[string]*classicBalancer // by name
	networks  map[string]*network         // by ARN, and so on
	listeners map[string]*listener
	groups    map[string]*targetGroup
	quotas    Quotas

	certificates certificates

	delays   Delays
	draining *time.Duration // nil: the attribute of the target group
}

func newBalancers(delays Delays) balancers {
	return balancers{
		delays:    delays,
		quotas:    Quotas{}.complete(),
		classics:  make(map[string]*classicBalancer),
		networks:  make(map[string]*network),
		listeners: make(map[string]*listener),
		groups:    make(map[string]*targetGroup),
	}
}

// conflict is the error of the classic API for an impossible configuration.
func conflict(format string, args ...any) error {
	return &apiError{http.StatusConflict, "InvalidConfigurationRequest", fmt.Sprintf(format, args...)}
}

// invalid is the error for a request that is wrong in any state.
func invalid(format string, args ...any) error { return fail("ValidationError", format, args...) }

var balancerName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$`)

// checkName checks the name of a load balancer or a target group.
func checkName(kind, name string) error {
	if len(name) > 32 {
		return invalid("%s name '%s' cannot be longer than '32' characters", kind, name)
	}
	if !balancerName.MatchString(name) {
		return invalid("%s name '%s' can only contain alphanumeric characters and hyphens, and cannot begin or end with a hyphen", kind, name)
	}

	return nil
}

// partition returns the partition of a region and the domain of its names.
func partition(region string) (name, domain string) {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn", "amazonaws.com.cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov", "amazonaws.com"
	}

	return "aws", "amazonaws.com"
}

// sortedValues returns the values of m in the order of their keys.
func sortedValues[V any](m map[string]V) []V {
	out := make([]V, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[key])
	}

	return out
}

// number returns a parameter within bounds, or the fallback when it was not sent.
func number(p params, name string, fallback, low, high int32) (int32, error) {
	n, err := p.int32(name)
	if err != nil {
		return 0, err
	}
	if n == nil {
		return fallback, nil
	}
	if *n < low || *n > high {
		return 0, invalid("%s must be between %d and %d, not %d", name, low, high, *n)
	}

	return *n, nil
}
