package vsphere

import (
	"fmt"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// FuzzDecode: no cloud-config and no environment makes the reader panic, a
// configuration without errors is complete, and no password is ever shown.
func FuzzDecode(f *testing.F) {
	const login = "[Global]\nuser = u\npassword = p\n"
	f.Add(login+"[VirtualCenter \"vc\"]\nserver = x\nport = 5\n", "vc", "hunter2")
	f.Add("[VirtualCenter]\n", "", "")
	f.Add("[VirtualCenter \"vc\"]\nip-family = ,ipv4\n", "a=b", "\"#;\\")
	f.Add("global:\n  server: vc\n  ipFamily: [ipv6, ipv4]\nvcenter:\n  a: {server: b}\n  c:\n", "vc\n[x]", "*a")
	f.Add("[Global]\nsecret-name = s\nsecret-namespace = n\nsecrets-directory = /d\n[Labels]\n[Nodes]\ninternal-network-subnet-cidr = ::/0\n", "x", "\r")
	f.Add("{}\n", "\"]\n[Global]\nserver = x", "y")
	f.Fuzz(func(t *testing.T, text, name, password string) {
		file, err := config.Parse("vsphere.conf", []byte(text))
		if err != nil {
			return
		}
		const marker = "hunter2marker"
		env := in(map[string]string{"VSPHERE_VCENTER_1": name, "VCENTER_1_PASSWORD": password + marker, "VSPHERE_PASSWORD": marker + password, "VCENTER_1_USERNAME": "u"})
		for _, env := range []environment{in(nil), withSecretsDirectory(), env} {
			cfg, _, problems := decode(file, env)
			shown := describeProblems(problems)
			for _, s := range explainIn(file, env) {
				shown = append(shown, fmt.Sprint(s))
			}
			shown = append(shown, fmt.Sprintf("%+v", cfg.Global), fmt.Sprintf("%#v", cfg.Global))
			if all := strings.Join(shown, "\n"); strings.Contains(all, marker) {
				t.Errorf("the password is shown: %s", all)
			}
			if problems.Err() == nil {
				checkComplete(t, cfg)
			}
		}
	})
}

func checkComplete(t *testing.T, cfg *Config) {
	t.Helper()
	if len(cfg.VirtualCenter) == 0 {
		t.Error("no vCenter and no error")
	}
	for name, vc := range cfg.VirtualCenter {
		inline := vc.User != "" && vc.Password != ""
		if name == "" || vc.Server == "" || vc.Port == 0 || vc.SoapRoundtripCount == 0 || len(vc.IPFamily) == 0 || !inline && cfg.secretSource(vc).none() {
			t.Errorf("vCenter %q is not complete: %+v", name, vc)
		}
	}
}
