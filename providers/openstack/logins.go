package openstack

import (
	"context"
	"errors"
	"sync/atomic"

	"k8s.io/client-go/kubernetes"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

var errNoLease = apierr.Mark(apierr.ErrUnavailable, errors.New("there is no client for the Lease of failed logins"))

// loginStore keeps failed logins in a Lease, over restarts and changes of the leader. It
// fails until it is open: the client for the Lease comes after the guard is made.
type loginStore struct {
	lease atomic.Pointer[login.LeaseStore]
}

var _ login.Store = (*loginStore)(nil)

// open begins to use the Lease.
func (s *loginStore) open(api kubernetes.Interface) {
	s.lease.Store(login.NewLeaseStore(api.CoordinationV1(), login.LeaseNamespace, login.LeaseName(ProviderName)))
}

// Load implements login.Store.
func (s *loginStore) Load(ctx context.Context) (login.Record, error) {
	if lease := s.lease.Load(); lease != nil {
		return lease.Load(ctx)
	}

	return login.Record{}, errNoLease
}

// Save implements login.Store.
func (s *loginStore) Save(ctx context.Context, record login.Record) error {
	if lease := s.lease.Load(); lease != nil {
		return lease.Save(ctx, record)
	}

	return errNoLease
}
