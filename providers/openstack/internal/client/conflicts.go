package client

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
)

// ConflictReason is why Octavia refuses a change with 409.
type ConflictReason string

// The reasons.
const (
	// ReasonImmutable means that the object is being changed, or is in ERROR.
	ReasonImmutable ConflictReason = "immutable"
	// ReasonDuplicate means that an object of this kind has these properties already.
	ReasonDuplicate ConflictReason = "duplicate"
	// ReasonInUse means that something else uses the object.
	ReasonInUse ConflictReason = "in use"
)

// ConflictKind is the kind of object that a conflict is about.
type ConflictKind string

// The kinds.
const (
	KindLoadBalancer  ConflictKind = "loadbalancer"
	KindListener      ConflictKind = "listener"
	KindPool          ConflictKind = "pool"
	KindMember        ConflictKind = "member"
	KindHealthMonitor ConflictKind = "healthmonitor"
)

// Conflict is the object that a 409 of Octavia names.
type Conflict struct {
	Kind   ConflictKind
	Reason ConflictReason
	// ID is that of the object. It is empty for a duplicate.
	ID string
}

// conflictTexts are the texts of Octavia for what it refuses with 409:
// https://opendev.org/openstack/octavia/src/branch/master/octavia/common/exceptions.py.
// The groups are the kind and the ID.
var conflictTexts = []struct {
	text   *regexp.Regexp
	reason ConflictReason
}{
	{regexp.MustCompile(`(?i)(load ?balancer|listener|pool|member|health ?monitor) ([0-9a-f-]{32,36}) is immutable`), ReasonImmutable},
	{regexp.MustCompile(`(?i)invalid state \S+ of (load ?balancer) resource ([0-9a-f-]{32,36})`), ReasonImmutable},
	{regexp.MustCompile(`(?i)another (listener|member) on this (?:load ?balancer|pool) is already using`), ReasonDuplicate},
	{regexp.MustCompile(`(?i)this pool already has a (health ?monitor)`), ReasonDuplicate},
	{regexp.MustCompile(`(?i)(pool) ([0-9a-f-]{32,36}) is in use by l7 ?policy`), ReasonInUse},
}

// ConflictOf returns what a refusal of Octavia names. It returns false for other errors,
// and for a conflict that names nothing known.
func ConflictOf(err error) (Conflict, bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Service != LoadBalancer || e.Status != http.StatusConflict {
		return Conflict{}, false
	}
	for _, c := range conflictTexts {
		groups := c.text.FindStringSubmatch(e.Message)
		if groups == nil {
			continue
		}
		found := Conflict{Reason: c.reason, Kind: ConflictKind(strings.ToLower(strings.ReplaceAll(groups[1], " ", "")))}
		if len(groups) > 2 {
			found.ID = groups[2]
		}

		return found, true
	}

	return Conflict{}, false
}
