package session_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential/credentialtest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

// Whatever is written in either form is read back.
func TestParseRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ -~]{1,20}`)
		servers := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9:.]{1,20}`), 1, 5, rapid.ID[string]).Draw(t, "servers")
		want := map[string]session.Credentials{}
		data := map[string][]byte{}
		for i, server := range servers {
			c := session.Credentials{User: word.Draw(t, "user"), Password: config.Secret(word.Draw(t, "password"))}
			want[server] = c
			if rapid.Bool().Draw(t, "dotted") {
				maps.Copy(data, credentialtest.Data(server+".username", c.User, server+".password", c.Password.Reveal()))
			} else {
				maps.Copy(data, credentialtest.Data(fmt.Sprintf("server_%d", i), server,
					fmt.Sprintf("username_%d", i), c.User, fmt.Sprintf("password_%d", i), c.Password.Reveal()))
			}
		}
		found, err := session.Parse(data)
		if err != nil {
			t.Fatalf("Parse() = %v", err)
		}
		if diff := cmp.Diff(reveal(want), reveal(found)); diff != "" {
			t.Errorf("Parse(): -want, +got:\n%s", diff)
		}
	})
}

// checkParse checks what is true of every Secret: Parse returns credentials that can be
// used or an error, which never contains a value.
func checkParse(t interface{ Errorf(string, ...any) }, keys, content []string) {
	const marker = "\u00a7hidden\u00a7"
	data := map[string][]byte{}
	for i, key := range keys {
		data[key] = []byte(marker + content[i])
	}
	found, err := session.Parse(data)
	if err == nil && len(found) == 0 {
		t.Errorf("Parse(%q) returned neither credentials nor an error", keys)
	}
	if !strings.Contains(strings.Join(keys, ""), marker) && strings.Contains(fmt.Sprint(err), marker) {
		t.Errorf("Parse(%q) = %v, shows a value", keys, err)
	}
	for server, c := range found {
		if server == "" || (c.ManagerURL == "" && (c.User == "" || c.Password == "")) {
			t.Errorf("Parse(%q) found %q with unusable credentials", keys, server)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("vc1.username", "u", "vc1.password", "p", "notes", "n")
	f.Add("server_a", "fd00::1", "username_a", "u", "password_a", "p")
	f.Add("server_", "", "username_", "", ".password", "\n")
	f.Add("vc1.vc-session-manager-url", "https://m", "vc1.vc-session-manager-token", "t", "server_a", "vc1")
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, k3, v3 string) {
		checkParse(t, []string{k1, k2, k3}, []string{v1, v2, v3})
	})
}

// The check of the fuzz test, for a few keys that are nearly right, in each run.
func TestParseAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{
			"", "a", "b", "vc1", "server_", "username_", "password_", ".username", ".password",
			".vc-session-manager-url", ".vc-session-manager-token", "_", ".",
		})
		key := rapid.Custom(func(t *rapid.T) string {
			return part.Draw(t, "start") + part.Draw(t, "middle") + part.Draw(t, "end")
		})
		keys := rapid.SliceOfNDistinct(key, 0, 8, rapid.ID[string]).Draw(t, "keys")
		content := rapid.SliceOfN(rapid.SampledFrom([]string{"", "\n", "a", "vc1"}), len(keys), len(keys)).Draw(t, "values")
		checkParse(t, keys, content)
	})
}
