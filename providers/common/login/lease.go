package login

import (
	"context"
	"encoding/json"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// LeaseNamespace is that of the Lease by which the leader is elected, unless a
	// flag sets another one.
	LeaseNamespace = metav1.NamespaceSystem
	// LeaseAnnotation has the [Record] as JSON.
	LeaseAnnotation = "multicloud-ccm.io/logins"
)

// LeaseName returns the name of the Lease of a provider. It is not the one by which
// the leader is elected.
func LeaseName(provider string) string { return "multicloud-ccm-logins-" + provider }

// LeaseStore is a [Store] in the annotation of a Lease. It needs create on leases, and
// get and update on this one.
type LeaseStore struct {
	client          coordinationv1client.LeasesGetter
	namespace, name string

	lease *coordinationv1.Lease // as read or written last; nil if there was none
}

var _ Store = (*LeaseStore)(nil)

// NewLeaseStore returns the store in a Lease, which the first Save creates.
func NewLeaseStore(client coordinationv1client.LeasesGetter, namespace, name string) *LeaseStore {
	return &LeaseStore{client: client, namespace: namespace, name: name}
}

// Load implements Store.
func (s *LeaseStore) Load(ctx context.Context) (Record, error) {
	lease, err := s.client.Leases(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.lease = nil

		return Record{}, nil
	}
	if err != nil {
		return Record{}, fmt.Errorf("get Lease %s/%s: %w", s.namespace, s.name, err)
	}
	s.lease = lease
	text, found := lease.Annotations[LeaseAnnotation]
	if !found {
		return Record{}, nil
	}
	var record Record
	if err = json.Unmarshal([]byte(text), &record); err == nil {
		err = record.validate()
	}
	if err != nil {
		return Record{}, apierr.Mark(apierr.ErrInvalid, fmt.Errorf("read annotation %s of Lease %s/%s: %w", LeaseAnnotation, s.namespace, s.name, err))
	}

	return record, nil
}

// Save implements Store.
func (s *LeaseStore) Save(ctx context.Context, record Record) error {
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("write record of logins: %w", err)
	}
	leases := s.client.Leases(s.namespace)
	var saved *coordinationv1.Lease
	if s.lease == nil {
		saved, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: s.name, Annotations: map[string]string{LeaseAnnotation: string(text)},
		}}, metav1.CreateOptions{})
	} else {
		lease := s.lease.DeepCopy()
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, LeaseAnnotation, string(text))
		saved, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	switch {
	case err == nil:
		s.lease = saved

		return nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return apierr.Mark(apierr.ErrConflict, fmt.Errorf("write Lease %s/%s: %w", s.namespace, s.name, err))
	}

	return fmt.Errorf("write Lease %s/%s: %w", s.namespace, s.name, err)
}
