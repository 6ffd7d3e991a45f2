package session_test

import (
	"errors"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

func TestInFile(t *testing.T) {
	t.Parallel()

	good := session.Credentials{User: "u", Password: "p"}
	if got, err := session.NewInFile(good).Lookup(t.Context(), "any"); err != nil || got != good {
		t.Errorf("Lookup() = %v, %v", got, err)
	}
	if _, err := session.NewInFile(session.Credentials{User: "u"}).Lookup(t.Context(), "any"); !errors.Is(err, session.ErrMissing) {
		t.Errorf("Lookup() without a password = %v, want %v", err, session.ErrMissing)
	}
}
