package nsx

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRealization: an object is realized once all its entities are, and has failed if one of them tells why it cannot be.
func TestRealization(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, entities string
		want             Realization
	}{
		"none":      {"a new object has none for a moment", `[]`, Realization{State: Pending}},
		"all":       {"each is realized", `[{"state":"REALIZED"},{"state":"REALIZED"}]`, Realization{State: Realized}},
		"some":      {"one is not yet", `[{"state":"REALIZED"},{"state":"UNREALIZED"}]`, Realization{State: Pending}},
		"unknown":   {"its state cannot be read now", `[{"state":"UNAVAILABLE"}]`, Realization{State: Pending}},
		"failed":    {"the alarm tells why", `[{"state":"ERROR","alarms":[{"message":"no address","error_details":{"error_code":8212,"error_message":"exhausted"}}]},{"state":"UNREALIZED"}]`, Realization{State: Failed, Reason: "no address: exhausted"}},
		"waits":     {"500042 means that something is not ready", `[{"state":"ERROR","alarms":[{"message":"m","error_details":{"error_code":500042}}]}]`, Realization{State: Pending}},
		"no alarm":  {"it has failed nevertheless", `[{"state":"ERROR"}]`, Realization{State: Failed, Reason: "no alarm tells why"}},
		"attribute": {"an address", `[{"state":"REALIZED","extended_attributes":[{"key":"allocation_ip","values":["192.0.2.1"]}]}]`, Realization{State: Realized, Attributes: map[string][]string{"allocation_ip": {"192.0.2.1"}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var entities []entity
			if err := json.Unmarshal([]byte(tc.entities), &entities); err != nil {
				t.Fatal(err)
			}
			if tc.want.Attributes == nil {
				tc.want.Attributes = map[string][]string{}
			}
			if diff := cmp.Diff(tc.want, realizationOf(entities)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOperation: calls are counted by their last collection. Each path has a name, since paths come from objects of the
// manager, too.
func TestOperation(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]request{
		"ListStaticRoutes":     {method: "GET", path: "/infra/tier-1s/t/static-routes"},
		"GetStaticRoutes":      {method: "GET", path: "/infra/tier-1s/t/static-routes/r"},
		"PutLbPools":           {method: "PUT", path: "/infra/lb-pools/p"},
		"DeleteIpAllocations":  {method: "DELETE", path: "/infra/ip-pools/p/ip-allocations/a"},
		"ListRealizedEntities": {method: "GET", path: "/infra/realized-state/realized-entities"},
		"ListQuery":            {method: "GET", path: "/search/query"},
		"ListInfra":            {method: "GET", path: "/infra"},
		"PutInfra":             {method: "PUT", path: "infra/"},
		"ListAB":               {method: "GET", path: "/global-infra/x/a--b"},
		"PutC":                 {method: "PUT", path: "/global-infra/x/-c-"},
		"Delete":               {method: "DELETE", path: "/global-infra/x/-"},
		"Get":                  {method: "GET", path: "/infra//x"},
		"List":                 {method: "GET", path: "/"},
		"Put":                  {method: "PUT", path: ""},
	} {
		if got := r.operation(); got != want {
			t.Errorf("%s %s is %s, want %s", r.method, r.path, got, want)
		}
	}
}
