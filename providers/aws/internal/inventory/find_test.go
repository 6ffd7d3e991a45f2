package inventory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// filters are those of a request, by name.
func filters(request aws.Request) map[string][]string {
	all := map[string][]string{}
	for i := 1; request.Form.Has(fmt.Sprintf("Filter.%d.Name", i)); i++ {
		name := request.Form.Get(fmt.Sprintf("Filter.%d.Name", i))
		for k := 1; request.Form.Has(fmt.Sprintf("Filter.%d.Value.%d", i, k)); k++ {
			all[name] = append(all[name], request.Form.Get(fmt.Sprintf("Filter.%d.Value.%d", i, k)))
		}
	}

	return all
}

func values(request aws.Request, filter string) []string { return filters(request)[filter] }

// TestNewNode: a name costs one call, and the ID that it leads to none
// (AWS-API-7).
func TestNewNode(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{})
	id := b.seed.AddNode(aws.InstanceSpec{PrivateDNSName: "node-1.example"})
	got := b.calls(func() {
		found, err := b.FindByName(t.Context(), "node-1.example")
		if err != nil || found.ID != id {
			t.Fatalf("got %v, %v", found, err)
		}
		b.pass(1, []string{id})
	})
	if got != 1 {
		t.Errorf("AWS-API-7: want 1 call, got %d", got)
	}
	if got := values(b.forms()[0], "instance-state-name"); slices.Contains(got, "terminated") || len(got) != 5 {
		t.Errorf("AWS-ID-4: want the states of living instances, got %v", got)
	}
}

// TestNames covers the rules for names (AWS-ID-4), as looked up one by one, out
// of the list, and confirmed.
func TestNames(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason        string
		name          string
		find, confirm error
	}{
		"one":              {"the instance", "single", nil, nil},
		"none":             {"no instance is not found", "missing", ErrAbsent, ErrAbsent},
		"two":              {"AWS-ID-4: more than one is an error", "shared", ErrAmbiguous, ErrAmbiguous},
		"untagged":         {"AWS-CLUSTER-8, AWS-ID-5: not found by name; but it exists, so not gone", "untagged", ErrAbsent, ErrUntagged},
		"tagged, untagged": {"AWS-ID-4: only those with the tag count", "mixed", nil, nil},
		"terminated":       {"AWS-ID-4: not among the states", "terminated", ErrAbsent, ErrAbsent},
	}
	b := newFixture(t, aws.Options{})
	zone := b.seed.Private[b.seed.Zones[0]]
	for _, name := range []string{"single", "shared", "shared", "mixed", "terminated"} {
		id := b.seed.AddNode(aws.InstanceSpec{PrivateDNSName: name})
		if name == "terminated" {
			b.cloud.Terminate(id)
		}
	}
	for _, name := range []string{"untagged", "mixed"} {
		b.cloud.AddInstance(aws.InstanceSpec{PrivateDNSName: name, InterfaceSpec: aws.InterfaceSpec{Subnet: zone}})
	}
	check := func(t *testing.T, what, reason, name string, want error, query func(context.Context, string) (*Instance, error)) {
		t.Helper()
		found, err := query(t.Context(), name)
		if !errors.Is(err, want) || (err == nil) != (found != nil) {
			t.Errorf("%s: %s %s: want %v, got %v, %v", reason, what, name, want, found, err)
		}
		if conflict := errors.Is(want, ErrAmbiguous) || errors.Is(want, ErrUntagged); errors.Is(err, apierr.ErrConflict) != conflict {
			t.Errorf("%s: %s %s: want a conflict: %t, got %v", reason, what, name, conflict, err)
		}
	}
	for _, round := range []string{"alone", "cached", "in the list"} {
		for name, tc := range cases {
			t.Run(name+" "+round, func(t *testing.T) {
				check(t, "find", tc.reason, tc.name, tc.find, b.FindByName)
				check(t, "confirm", tc.reason, tc.name, tc.confirm, b.ConfirmByName)
			})
		}
		if round == "cached" {
			b.sleep(DefaultMissingAge)
			b.list(b.seed.AddNodes(listed))
		}
	}
	for _, request := range b.forms() {
		if len(values(request, "private-dns-name")) > 0 && (values(request, "tag-key") != nil || len(filters(request)) != 2) {
			t.Errorf("AWS-ID-5: want no tag filter beside a name, got %v", request.Form)
		}
	}
}

// TestConfirm: EC2 itself is queried, whatever is known (FW-NODE-2), by the
// parameter that distinguishes a malformed ID from a missing one (AWS-NODE-1).
func TestConfirm(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{})
	id := b.seed.AddNodes(1)[0]
	b.pass(1, []string{id})
	b.cloud.Remove(id)
	b.pass(1, []string{id}) // still cached
	if _, err := b.Confirm(t.Context(), id); !errors.Is(err, ErrAbsent) {
		t.Errorf("a removed instance: want ErrAbsent, got %v", err)
	}
	if _, err := b.Find(t.Context(), id); !errors.Is(err, ErrAbsent) {
		t.Errorf("what Confirm reads is not stored: got %v", err)
	}
	b.seed.AddNode(aws.InstanceSpec{ID: id})
	if got := b.calls(func() {
		if found, err := b.Confirm(t.Context(), id); err != nil || found.ID != id {
			t.Errorf("got %v, %v", found, err)
		}
		b.pass(1, []string{id})
	}); got != 1 {
		t.Errorf("want 1 call, got %d", got)
	}
	if _, err := b.Confirm(t.Context(), "i-no-id"); err == nil || errors.Is(err, ErrAbsent) || client.Code(err) != "InvalidInstanceID.Malformed" {
		t.Errorf("AWS-NODE-1: a malformed ID is an error, never missing: got %v", err)
	}
	b.cloud.Terminate(id)
	if found, err := b.Confirm(t.Context(), id); err != nil || found.State != "terminated" {
		t.Errorf("AWS-NODE-1: a terminated instance is described: got %v, %v", found, err)
	}
	for _, request := range b.forms() {
		if request.Form.Get("InstanceId.1") != "" && (request.Form.Has("MaxResults") || request.Form.Has("InstanceId.2")) {
			t.Errorf("want one ID without MaxResults, got %v", request.Form)
		}
	}
}

// TestPages: without one of its pages, a list is none, and the instances that it lacks
// are described by ID.
func TestPages(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{PageSize: 100})
	b.cloud.Interceptor().Inject(describe, simserver.Nth(2), aws.Error(http.StatusInternalServerError, "InternalError", "An internal error has occurred"))
	ids := b.seed.AddNodes(maxIDs + 1)
	if found, err := b.Get(t.Context(), ids); err != nil || len(found) != maxIDs+1 || len(b.forms()) != 3 {
		t.Errorf("without the second page: got %d instances by %d calls, %v", len(found), len(b.forms()), err)
	}
	if b.Peek(time.Hour) != nil {
		t.Error("half a list is kept")
	}
	b.sleep(DefaultMaxAge)
	if found, err := b.Get(t.Context(), ids); err != nil || len(found) != maxIDs+1 || b.Peek(time.Minute) == nil {
		t.Errorf("want all pages, got %d instances, %v", len(found), err)
	}
}
