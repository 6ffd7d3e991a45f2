package session_test

import (
	"context"
	"errors"
	"testing"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// tagged is a vCenter with one tag on one VM.
func tagged() vsphere.VCenterSpec {
	return vsphere.VCenterSpec{Datacenters: []vsphere.DatacenterSpec{{
		Name: "dc", VMs: []vsphere.VMSpec{{Name: "node", Tags: vsphere.Tags{"zone": {"a"}}}},
	}}}
}

// everyCall makes every REST call that the provider needs.
func everyCall(ctx context.Context, c *rest.Client) error {
	m := tags.NewManager(c)
	categories, err := m.ListCategories(ctx)
	if err != nil {
		return err
	}
	category, err := m.GetCategory(ctx, categories[0])
	if err != nil {
		return err
	}
	ids, err := m.ListTagsForCategory(ctx, category.ID)
	if err != nil {
		return err
	}
	tag, err := m.GetTag(ctx, ids[0])
	if err != nil {
		return err
	}
	attached, err := m.ListAttachedObjectsOnTags(ctx, ids)
	if err == nil && (category.Name != "zone" || tag.Name != "a" || len(attached) != 1 || len(attached[0].ObjectIDs) != 1) {
		err = errors.New("a result is not that of the vCenter")
	}

	return err
}

// A vCenter before 7.0 U2 has the deprecated path alone, and one of these days
// there will be one without it.
func TestRESTWorksAtThePathThatIsThere(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		served    []string
		none, few string // paths that get no call, and that get one
	}{
		"newer":      {[]string{vsphere.RESTPath}, vsphere.LegacyRESTPath, ""},
		"deprecated": {[]string{vsphere.LegacyRESTPath}, "", vsphere.RESTPath},
		"both":       {[]string{vsphere.RESTPath, vsphere.LegacyRESTPath}, vsphere.LegacyRESTPath, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, tagged())
			b.SetRESTPaths(tc.served...)
			s := b.open(t, session.Options{})
			ctx := bounded(t)
			for range 3 {
				must(t, s.REST(ctx, everyCall))
			}
			if _, ids := b.ids(); len(ids) != 1 {
				t.Errorf("%d sessions, want 1", len(ids))
			}
			must(t, s.Close(ctx))
			if n := b.RESTCalls(tc.none); tc.none != "" && n != 0 {
				t.Errorf("%d calls to %s", n, tc.none)
			}
			if n := b.RESTCalls(tc.few); tc.few != "" && n != 1 {
				t.Errorf("%d calls to %s, want 1: it was found missing", n, tc.few)
			}
			if left := b.Sessions(); len(left) != 0 {
				t.Errorf("sessions are left: %+v", left)
			}
		})
	}
}

// An upgrade takes away a path under a session that goes on.
func TestRESTPathIsTakenAwayUnderASession(t *testing.T) {
	t.Parallel()
	b := newFixture(t, tagged())
	s := b.open(t, session.Options{})
	ctx := bounded(t)
	for _, path := range []string{vsphere.LegacyRESTPath, vsphere.RESTPath, vsphere.LegacyRESTPath} {
		b.SetRESTPaths(path)
		must(t, s.REST(ctx, everyCall))
	}
	if _, ids := b.ids(); len(ids) != 1 {
		t.Errorf("%d sessions, want 1", len(ids))
	}
}

// A path that is missing has seen no password: one login is refused, not two.
func TestMissingRESTPathIsNoRefusedLogin(t *testing.T) {
	t.Parallel()
	b := newFixture(t, tagged())
	b.SetRESTPaths(vsphere.LegacyRESTPath)
	s := b.open(t, session.Options{})
	b.SetPassword("another")
	if err := s.REST(bounded(t), list); !errors.Is(err, apierr.ErrDenied) {
		t.Errorf("REST() = %v, want %v", err, apierr.ErrDenied)
	}
	if got := [2]int{b.RESTCalls(vsphere.RESTPath), b.RESTCalls(vsphere.LegacyRESTPath)}; got != [2]int{1, 1} {
		t.Errorf("calls to the newer and the deprecated path: %v, want one each", got)
	}
}
