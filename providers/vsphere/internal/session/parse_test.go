package session_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential/credentialtest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

// equateErrors compares errors by what they are.
var equateErrors = cmpopts.EquateErrors()

// VS-AUTH-1, VS-AUTH-2, VS-AUTH-3: the keys of Secrets and files, and their
// errors.
func TestParse(t *testing.T) {
	t.Parallel()

	u, p := "administrator@vsphere.local", config.Secret("s3cret")
	type want struct {
		found map[string]session.Credentials
		err   error
	}
	cases := map[string]struct {
		reason string
		data   map[string][]byte
		want   want
	}{
		"Dotted": {
			reason: "<server>.username and <server>.password, one newline removed",
			data:   credentialtest.Data("vc1.example.com.username", u+"\n", "vc1.example.com.password", "s3cret\n"),
			want:   want{found: map[string]session.Credentials{"vc1.example.com": {User: u, Password: p}}},
		},
		"OneNewlineOnly": {
			reason: "a second newline belongs to the value",
			data:   credentialtest.Data("vc1.username", u, "vc1.password", "s3cret\n\n"),
			want:   want{found: map[string]session.Credentials{"vc1": {User: u, Password: "s3cret\n"}}},
		},
		"Suffixed": {
			reason: "server_<id> names the server, so that an IPv6 address can be one",
			data:   credentialtest.Data("server_a", "fd00::1", "username_a", u, "password_a", "s3cret"),
			want:   want{found: map[string]session.Credentials{"fd00::1": {User: u, Password: p}}},
		},
		"SuffixedNewlines": {
			reason: "files made by hand end with a newline in both forms",
			data:   credentialtest.Data("server_a", "vc1\n", "username_a", u+"\n", "password_a", "s3cret\n"),
			want:   want{found: map[string]session.Credentials{"vc1": {User: u, Password: p}}},
		},
		"SharedSession": {
			reason: "a session manager replaces user and password; its token may be left out",
			data:   credentialtest.Data("vc1.vc-session-manager-url", "https://m/s\n", "vc2.vc-session-manager-url", "https://m/s", "vc2.vc-session-manager-token", "tok"),
			want: want{found: map[string]session.Credentials{
				"vc1": {ManagerURL: "https://m/s"}, "vc2": {ManagerURL: "https://m/s", ManagerToken: "tok"},
			}},
		},
		"Mixed": {
			reason: "both forms may mix, one Secret may hold many servers",
			data: credentialtest.Data("vc1.username", u, "vc1.password", "s3cret",
				"server_x", "fd00::1", "username_x", u, "password_x", "s3cret",
				"server_y", "fd00::2", "username_y", "other", "password_y", "s3cret"),
			want: want{found: map[string]session.Credentials{
				"vc1": {User: u, Password: p}, "fd00::1": {User: u, Password: p}, "fd00::2": {User: "other", Password: p},
			}},
		},
		"SuffixedWins": {
			reason: "two forms for one server: the same one counts always",
			data: credentialtest.Data("zz.username", "dotted", "zz.password", "dotted",
				"server_a", "zz", "username_a", "suffixed", "password_a", "suffixed"),
			want: want{found: map[string]session.Credentials{"zz": {User: "suffixed", Password: "suffixed"}}},
		},
		"Empty": {
			reason: "empty data",
			want:   want{err: session.ErrMissing},
		},
		"NoPassword": {
			reason: "user without password",
			data:   credentialtest.Data("vc1.username", u),
			want:   want{err: session.ErrMissing},
		},
		"EmptyPassword": {
			reason: "an empty password is none",
			data:   credentialtest.Data("vc1.username", u, "vc1.password", "\n"),
			want:   want{err: session.ErrMissing},
		},
		"TokenAlone": {
			reason: "a token without the session manager's URL",
			data:   credentialtest.Data("vc1.vc-session-manager-token", "tok"),
			want:   want{err: session.ErrMissing},
		},
		"ServerAlone": {
			reason: "server_ without user and password",
			data:   credentialtest.Data("server_a", "vc1"),
			want:   want{err: session.ErrMissing},
		},
		"UnknownKey": {
			reason: "unknown key",
			data:   credentialtest.Data("notes", "rotated in may"),
			want:   want{err: session.ErrUnknownKey},
		},
		"EmptySuffix": {
			reason: "empty suffix",
			data:   credentialtest.Data("server_", "vc1"),
			want:   want{err: session.ErrUnknownKey},
		},
		"EmptyServer": {
			reason: "a dotted key without a server is unknown",
			data:   credentialtest.Data(".username", u, "password", "s3cret"),
			want:   want{err: session.ErrUnknownKey},
		},
		"UserWithoutServer": {
			reason: "username_ without its server_",
			data:   credentialtest.Data("username_a", u),
			want:   want{err: session.ErrIncomplete},
		},
		"PasswordWithoutServer": {
			reason: "password_ without its server_",
			data:   credentialtest.Data("password_a", "s3cret"),
			want:   want{err: session.ErrIncomplete},
		},
		"PartsOfTwoForms": {
			reason: "the user of one set does not get the password of another",
			data:   credentialtest.Data("vc1.username", u, "server_a", "vc1", "password_a", "s3cret"),
			want:   want{err: session.ErrMissing},
		},
		"PartsOfTwoIDs": {
			reason: "nor does that of another id",
			data:   credentialtest.Data("server_a", "vc1", "username_a", u, "server_b", "vc1", "password_b", "s3cret"),
			want:   want{err: session.ErrMissing},
		},
		"WholeAndPart": {
			reason: "it is not known which of both is meant",
			data:   credentialtest.Data("vc1.username", u, "vc1.password", "s3cret", "server_a", "vc1", "password_a", "other"),
			want:   want{err: session.ErrMissing},
		},
		"PartAndWhole": {
			reason: "whichever of both comes first",
			data:   credentialtest.Data("vc1.username", u, "server_a", "vc1", "username_a", u, "password_a", "other"),
			want:   want{err: session.ErrMissing},
		},
		"OneBadAmongGood": {
			reason: "a mistake about one server does not take the others away",
			data:   credentialtest.Data("vc1.username", u, "vc1.password", "s3cret", "vc2.username", u, "README", "x"),
			want: want{
				found: map[string]session.Credentials{"vc1": {User: u, Password: p}},
				err:   session.ErrUnknownKey,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := session.Parse(tc.data)
			if diff := cmp.Diff(tc.want.err, err, equateErrors); diff != "" {
				t.Errorf("%s\nParse(): -want error, +got error:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(reveal(tc.want.found), reveal(found)); diff != "" {
				t.Errorf("%s\nParse(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// reveal writes credentials out, which they refuse to do themselves.
func reveal(all map[string]session.Credentials) []string {
	var out []string
	for _, server := range slices.Sorted(maps.Keys(all)) {
		c := all[server]
		out = append(out, fmt.Sprintf("%q %q %q %q %q",
			server, c.User, c.Password.Reveal(), c.ManagerURL, c.ManagerToken.Reveal()))
	}

	return out
}

// VS-AUTH-3: every mistake is reported at once, by the texts that users know.
func TestParseReportsEverything(t *testing.T) {
	t.Parallel()

	_, err := session.Parse(credentialtest.Data("notes", "a", "vc1.username", "u", "password_a", "p"))
	for _, text := range []string{
		`Unknown secret key "notes"`,
		`Username/Password is missing for the server of "vc1.username"`,
		`Credentials did not have all required values: "password_a" has no "server_a"`,
	} {
		if !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("Parse() = %v, want it to contain %q", err, text)
		}
	}
}
