package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

// Credentials never show what is secret in them, whatever the verb.
func TestCredentialsFormat(t *testing.T) {
	t.Parallel()

	const marker = "s3cret-marker"
	cases := map[string]struct {
		credentials session.Credentials
		want        string
	}{
		"User":        {session.Credentials{User: "admin", Password: marker}, `user "admin"`},
		"Certificate": {session.Credentials{User: testCertificate, Password: marker}, "client certificate"},
		"Manager": {
			session.Credentials{ManagerURL: "https://u:" + marker + "@m/s?token=" + marker, ManagerToken: marker},
			"session manager https://u:xxxxx@m/s",
		},
		"BadURL": {session.Credentials{ManagerURL: ":" + marker}, "session manager with an unreadable URL"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.credentials.String()); diff != "" {
				t.Errorf("String(): -want, +got:\n%s", diff)
			}
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
				text := fmt.Sprintf(verb, tc.credentials)
				if strings.Contains(text, marker) || strings.Contains(text, fmt.Sprintf("%x", marker)) {
					t.Errorf("Sprintf(%q) = %q", verb, text)
				}
			}
		})
	}
}

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
