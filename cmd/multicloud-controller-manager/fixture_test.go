package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

var update = flag.Bool("update", false, "write the golden files")

// Two providers of the tests, which are in the registry under these names.
const (
	plainName  = "plain"  // accepts every file that it can read
	brokenName = "broken" // its factory rejects all files
)

func TestMain(m *testing.M) {
	cloudprovider.RegisterCloudProvider(plainName, func(r io.Reader) (cloudprovider.Interface, error) {
		if r == nil {
			return &fakeCloud{}, nil
		}
		content, err := io.ReadAll(r)

		return &fakeCloud{content: string(content)}, err
	})
	cloudprovider.RegisterCloudProvider(brokenName, func(io.Reader) (cloudprovider.Interface, error) {
		return nil, errors.New("no credentials")
	})
	os.Exit(m.Run())
}

// fakeCloud is a cloud that keeps the arguments of its factory.
type fakeCloud struct {
	cloudprovider.Interface

	content   string
	clusterID bool
}

func (c *fakeCloud) HasClusterID() bool { return c.clusterID }

// plainConfig is what the providers of the tests read.
type plainConfig struct {
	Place struct {
		// City is any name but Atlantis.
		City     string        `gcfg:"city"`
		Password config.Secret `gcfg:"password"`
	}
}

func describe(name string) provider.Descriptor {
	resolve := func(file *config.File) (*config.Resolver, *plainConfig) {
		cfg := &plainConfig{}
		r := config.NewResolver(file, config.Schema{Foreign: map[config.Name]string{{Section: "Old"}: "it is no longer used"}})
		r.Decode(name, cfg)
		if cfg.Place.City == "Atlantis" {
			r.Errorf(config.Name{Section: "Place", Key: "city"}, "not a city")
		}

		return r, cfg
	}

	return provider.Descriptor{
		Name:    name,
		Summary: "a provider of tests",
		Capabilities: []provider.Capability{
			{Name: "instances", Supported: true, Note: "all of them"},
			{Name: "load balancers", Supported: true},
			{Name: "routes", Note: "no roads lead there"},
		},
		Decode: func(file *config.File, _ config.Scope) config.Problems {
			r, _ := resolve(file)

			return r.Finish()
		},
		Explain: func(file *config.File) []config.Setting {
			r, cfg := resolve(file)

			return r.Explain(cfg)
		},
		Prove: func(_ context.Context, candidate provider.Candidate) (provider.Proof, error) {
			proof := provider.Proof{Identity: "user plain", Scope: "city " + cityOf(candidate.File)}
			switch cityOf(candidate.File) {
			case "Rome":
				return proof, apierr.Mark(apierr.ErrDenied, errors.New("wrong password"))
			case "Thule":
				return provider.Proof{}, apierr.Mark(apierr.ErrUnavailable, errors.New("no response"))
			}
			for _, node := range candidate.Nodes {
				proof.Nodes.Missing = append(proof.Nodes.Missing, node.Name)
			}

			return proof, nil
		},
	}
}

// cityOf is the city of a file.
func cityOf(file *config.File) string {
	cfg := &plainConfig{}
	config.NewResolver(file, config.Schema{}).Decode(plainName, cfg)

	return cfg.Place.City
}

func testProviders() []provider.Descriptor {
	return []provider.Descriptor{describe(plainName), describe(brokenName)}
}

// configFile writes a cloud-config and returns its path.
func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cloud.conf")
	replace(t, path, text)

	return path
}

func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantGolden compares what was printed with a file in testdata. PATH stands for
// the path of the cloud-config.
func wantGolden(t *testing.T, name string, printed *bytes.Buffer, path string) {
	t.Helper()
	got := printed.String()
	if path != "" {
		got = strings.ReplaceAll(got, path, "PATH")
	}
	golden := filepath.Join("testdata", name)
	if *update {
		replace(t, golden, got)

		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}

// wantError compares the text of an error; an empty one wants none.
func wantError(t *testing.T, want string, err error) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("want error %q, got %v", want, err)
	}
}
