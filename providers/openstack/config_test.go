package openstack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// loginText is a cloud-config that lacks nothing.
const loginText = "[Global]\nauth-url = https://keystone/v3\nusername = u\npassword = p\ntenant-name = t\ndomain-name = d\n"

// in is an environment with these files, by path, and no variables.
func in(files map[string]string) environment {
	return environment{
		workingDirectory: "/srv", home: "/home/ccm",
		readFile: func(path string) ([]byte, error) {
			text, ok := files[path]
			if !ok {
				return nil, fs.ErrNotExist
			}

			return []byte(text), nil
		},
	}
}

func (e environment) with(variables map[string]string) environment {
	e.variables = variables

	return e
}

// certificates are a self-signed certificate and its key in PEM format.
var certificates = sync.OnceValues(func() (certificate, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		panic(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		panic(err)
	}

	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
})

func parse(t testing.TB, text string) *config.File {
	t.Helper()
	file, err := config.Parse("cloud.conf", []byte(text))
	must(t, err)

	return file
}

func describe(problems config.Problems) []string {
	var lines []string
	for _, problem := range problems {
		lines = append(lines, problem.Severity.String()+": "+problem.String())
	}

	return lines
}

// checkProblems compares problems with the wanted ones, without the path of the
// cloud-config.
func checkProblems(t *testing.T, reason string, want []string, problems config.Problems) {
	t.Helper()
	var got []string
	for _, line := range describe(problems) {
		got = append(got, strings.ReplaceAll(line, "cloud.conf:", ""))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: problems (-want +got):\n%s", reason, diff)
	}
}

// samplesEnvironment has the files of testdata, and certificates.
func samplesEnvironment() environment {
	env := in(nil)
	certificate, _ := certificates()
	env.readFile = func(path string) ([]byte, error) {
		switch path {
		case "/etc/kubernetes/ca-bundle.crt", "/etc/kubernetes/external-openstack-cacert.pem":
			return []byte(certificate), nil
		default:
			return os.ReadFile(filepath.Join("testdata", "config", "files", path))
		}
	}

	return env
}

// TestSamples reads files as users of the existing controller manager have them:
// problems, and settings that are not the default, are in golden files.
func TestSamples(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		login  client.Credentials
	}{
		"kubespray": {
			"a user with a password, all values in quotes",
			client.Credentials{Username: "k8s-prod", UserDomainName: "Default", Password: `p#ss;w"rd\`, ProjectID: "4fd44f30292945e481c7b8a0c8908869"},
		},
		"chart": {
			"an application credential, classes, each section",
			client.Credentials{ApplicationCredentialID: "9b7c0123456789abcdef0123456789ab", ApplicationCredentialSecret: "hunter2"},
		},
		"devstack": {
			"written in a hurry: every doubtful line has a warning, none is an error",
			client.Credentials{Username: "admin", UserDomainID: "default", Password: "secret", ProjectName: "demo", ProjectDomainID: "default"},
		},
		"magnum": {
			"a trust: the domain is not that of the user",
			client.Credentials{UserID: "0123456789abcdef0123456789abcdef", Password: "trustee-secret", TrustID: "fedcba9876543210fedcba9876543210"},
		},
		"clouds": {
			"clouds.yaml with a profile and secure.yaml, of which the cloud-config overrides one key",
			client.Credentials{ApplicationCredentialID: "9b7c0123456789abcdef0123456789ab", ApplicationCredentialSecret: "hunter2"},
		},
		"only-cloud": {
			"the only cloud of clouds.yml in the home directory",
			client.Credentials{Username: "k8s", UserDomainID: "default", Password: "of the cloud-config", ProjectName: "kubernetes", ProjectDomainID: "default"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(filepath.Join("testdata", "config", name+".conf"))
			must(t, err)
			file, err := config.Parse(name+".conf", data)
			must(t, err)
			env := samplesEnvironment()
			cfg, problems := decode(file, env)
			if err := problems.Err(); err != nil {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(reveal(tc.login), reveal(cfg.login)); diff != "" {
				t.Errorf("%s: credentials (-want +got):\n%s", tc.reason, diff)
			}
			var text strings.Builder
			for _, line := range describe(problems) {
				fmt.Fprintln(&text, line)
			}
			for _, s := range explainIn(file, env) {
				if s.Source != "default" {
					fmt.Fprintf(&text, "%s = %s  (%s)\n", s.Name, s.Value, s.Source)
				}
			}
			compareGolden(t, name+".golden", text.String())
		})
	}
}

// reveal returns credentials with their secrets as texts that can be compared and shown.
func reveal(c client.Credentials) map[string]string {
	return map[string]string{
		"user ID": c.UserID, "user": c.Username, "user domain ID": c.UserDomainID, "user domain": c.UserDomainName,
		"password": c.Password.Reveal(), "application credential ID": c.ApplicationCredentialID,
		"application credential": c.ApplicationCredentialName, "secret": c.ApplicationCredentialSecret.Reveal(),
		"token": c.Token.Reveal(), "trust": c.TrustID, "project ID": c.ProjectID, "project": c.ProjectName,
		"project domain ID": c.ProjectDomainID, "project domain": c.ProjectDomainName,
	}
}

// golden compares a text with a file of testdata, or rewrites the file.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "config", name)
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got (-update rewrites it):\n%s", path, diff)
	}
}

// TestDefaults has the defaults of every key in one golden file.
func TestDefaults(t *testing.T) {
	t.Parallel()
	file := parse(t, loginText)
	cfg, problems := decode(file, in(nil))
	checkProblems(t, "a cloud-config that lacks nothing", nil, problems)
	var text strings.Builder
	for _, s := range explainIn(file, in(nil)) {
		if s.Source == "default" {
			fmt.Fprintf(&text, "%s = %s\n", s.Name, s.Value)
		}
	}
	compareGolden(t, "defaults.golden", text.String())
	if cfg.regional || cfg.methodSet {
		t.Errorf("other settings: %+v", cfg)
	}
}
