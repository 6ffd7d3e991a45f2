package uuid_test

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

func TestForms(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text         string
		isID, server bool
	}{
		"dashes":    {"b1f8c2a4-6d0e-4e0a-9b7c-0123456789ab", true, true},
		"uppercase": {"B1F8C2A4-6D0E-4E0A-9B7C-0123456789AB", true, true},
		"project":   {"b1f8c2a46d0e4e0a9b7c0123456789ab", true, false},
		"short":     {"b1f8c2a4-6d0e-4e0a-9b7c-0123456789a", false, false},
		"path":      {"b1f8c2a4-6d0e-4e0a-9b7c-0123456789ab/x", false, false},
		"line":      {"b1f8c2a4-6d0e-4e0a-9b7c-0123456789ab\n", false, false},
		"empty":     {"", false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if isID, server := uuid.IsID(tc.text), uuid.IsServerID(tc.text); isID != tc.isID || server != tc.server {
				t.Errorf("%q: IsID %t, want %t; IsServerID %t, want %t", tc.text, isID, tc.isID, server, tc.server)
			}
		})
	}
}
