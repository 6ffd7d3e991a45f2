package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

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
