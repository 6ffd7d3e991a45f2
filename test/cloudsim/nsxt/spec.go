package nsxt

import (
	"cmp"
	"maps"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// Spec describes a manager. Whatever is left out has a default that is the same in every
// run; a negative duration is none.
type Spec struct {
	// Server is where and how the manager listens.
	Server simserver.Config
	// Prefix is the path before /policy/api/v1 and /api, such as that of a reverse proxy.
	Prefix string
	// Clock is the time of the manager. Default: the real one.
	Clock clock.PassiveClock

	// Users have the passwords of local accounts, which are Enterprise Admins.
	// Default: admin with "secret".
	Users map[string]string
	// RemoteUsers have the passwords of accounts in a directory, whose scheme is Remote
	// instead of Basic.
	RemoteUsers map[string]string
	// Principals are identities with a client certificate, see [NewPrincipal].
	Principals []Principal
	// Token is how tokens are issued. Default: they are not.
	Token Token
	// RefusedStatus is the status of a refused login, 401 or 403, both of which occur
	// ([operator]). Default: 403.
	RefusedStatus int
	// SessionIdle is how long an idle session is valid. Default: 30 minutes.
	SessionIdle time.Duration
	// Nodes is the number of managers behind the address, which get the requests in turn.
	// A session is valid on one of them only ([docs] NSX 4.1, cookie of a node). Default: 1.
	Nodes int

	// Tier1s, Pools and Profiles exist from the start, besides the profiles
	// default-tcp-lb-app-profile and default-udp-lb-app-profile ([API] LBVirtualServer).
	Tier1s   []Tier1
	Pools    []Pool
	Profiles []Profile

	// SearchLag is how long the search API shows the state before a change (no source
	// for the time). Default: a second.
	SearchLag time.Duration
	// DeletionTime is how long a deleted object stays marked (no source for the time).
	// Default: three seconds.
	DeletionTime time.Duration
	// RealizationTime is how long the realization of an intent takes (no source for the
	// time). Default: a second.
	RealizationTime time.Duration
	// RealizationTimes are those of some kinds, by collection: "lb-services".
	RealizationTimes map[string]time.Duration
	// AllocationRetry is how often a failed allocation is tried again by the manager (no
	// source). Default: never.
	AllocationRetry time.Duration

	// PageSize is the most rows in a page, whatever is asked for. Default: 1000 ([SDK]).
	PageSize int
	// BareLists are collections such as "ip-pools" whose lists have neither a cursor nor a
	// result_count ([terraform] 536).
	BareLists []string
	// RateLimit is that of a user. Default: 100 a second ([KB] 411782).
	RateLimit simstate.RateLimit
	// Concurrency is the number of requests of a user at a time. Default: 40 ([KB] 411782).
	Concurrency int
	// RetryAfter is in responses with 429 (no source). Default: no such header.
	RetryAfter time.Duration
	// LimitPerNode counts the requests of a user by manager (no source).
	LimitPerNode bool
	// Stale is how stale revisions are refused. Default: Stale412.
	Stale StaleShape
	// PartialPatch makes PATCH merge, a switch of the whole manager ([API] PartialPatchConfig).
	PartialPatch bool
	// RealizationNotFound makes the realized state of a fresh intent 404 instead of an empty
	// list (no source for either).
	RealizationNotFound bool

	Balancing
}

// Balancing are the options of load balancers and addresses.
type Balancing struct {
	// SeveralMonitors allows more than one active monitor in a pool; the text of LBPool
	// says that there is one ([SDK]).
	SeveralMonitors bool
	// SharedPorts allows virtual servers of an address with the same port and protocol in
	// a load balancer service (no source).
	SharedPorts bool
	// RefuseWithoutEdge refuses a load balancer service on a tier-1 gateway without an
	// edge cluster, instead of an error in its realized state (no source).
	RefuseWithoutEdge bool
	// ServicesPerTier1 is the number of load balancer services of a tier-1 gateway (no
	// source). Default: 1.
	ServicesPerTier1 int
	// ErrorsRealized has wrong families and exceeded limits accepted, with an error in the
	// realized state (no source for either).
	ErrorsRealized bool
	// AddressReturnsAtOnce has an address free when its allocation is marked for deletion
	// instead of gone (no source).
	AddressReturnsAtOnce bool
}

// Token describes the service that exchanges a refresh token for access tokens.
type Token struct {
	// Refresh is the refresh token; empty means that there is no such service.
	Refresh string
	// Path is where the service is. Default: that of VMware Cloud.
	Path string
	// Lifetime is that of an access token. Default: 30 minutes ([terraform] docs/index.md).
	Lifetime time.Duration
	// ExpiresAsString sends expires_in as a string instead of a number.
	ExpiresAsString bool
}

// Tier1 is a tier-1 gateway.
type Tier1 struct {
	ID string
	// EdgeCluster reports whether it has one, without which it serves no load balancers.
	EdgeCluster bool
	// Credits are those of the edge for load balancer services: 1, 10, 40 or 80 for an edge
	// of size small, medium, large or extra large ([KB] 322486). Default: no limit.
	Credits int
}

// Pool is an IP pool.
type Pool struct {
	ID string
	// Name is the display name. Default: the ID.
	Name string
	// Ranges are addresses or "first-last", IPv4 or IPv6; addresses are allocated in order.
	Ranges []string
}

// Profile is a profile or monitor of load balancers.
type Profile struct {
	// Path such as "/infra/lb-app-profiles/tcp".
	Path string
	// Type such as "LBFastTcpProfile".
	Type string
	// Name is the display name, which need not be unique. Default: the ID.
	Name string
}

func (s Spec) complete() Spec {
	if s.Clock == nil {
		s.Clock = clock.RealClock{}
	}
	if s.Users == nil {
		s.Users = map[string]string{"admin": "secret"}
	}
	s.RefusedStatus = cmp.Or(s.RefusedStatus, http.StatusForbidden)
	s.Nodes = cmp.Or(s.Nodes, 1)
	s.Token.Path = cmp.Or(s.Token.Path, "/csp/gateway/am/api/auth/api-tokens/authorize")
	s.Token.Lifetime = cmp.Or(s.Token.Lifetime, 30*time.Minute)
	s.SessionIdle = cmp.Or(s.SessionIdle, 30*time.Minute)
	s.SearchLag = max(0, cmp.Or(s.SearchLag, time.Second))
	s.DeletionTime = max(0, cmp.Or(s.DeletionTime, 3*time.Second))
	s.RealizationTime = max(0, cmp.Or(s.RealizationTime, time.Second))
	s.PageSize = min(maxPageSize, cmp.Or(s.PageSize, maxPageSize))
	times := map[string]time.Duration{}
	maps.Copy(times, s.RealizationTimes)
	s.RealizationTimes = times
	s.RateLimit = cmp.Or(s.RateLimit, simstate.RateLimit{Rate: 100, Burst: 100})
	s.Concurrency = cmp.Or(s.Concurrency, 40)
	s.ServicesPerTier1 = cmp.Or(s.ServicesPerTier1, 1)

	return s
}
