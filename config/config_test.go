package config_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// cloud is a configuration as a provider would declare it: every kind of value
// in a plain section, and a section with subsections.
type cloud struct {
	Global struct {
		Name     string          `gcfg:"name"`
		Token    config.Secret   `gcfg:"token"`
		CAFile   string          `gcfg:"ca-file"`
		Count    int             `gcfg:"count"`
		Insecure bool            `gcfg:"insecure"`
		Wait     config.Duration `gcfg:"wait"`
		Zones    config.List     `gcfg:"zones"`
		Nets     config.CIDRs    `gcfg:"nets"`
		Limit    *int32          `gcfg:"limit"`
		Hosts    []string        `gcfg:"hosts"`
		Labels   labels          `gcfg:"labels"`
	}
	VirtualCenter map[string]*center
}

// labels are the value of a key that takes a mapping.
type labels map[string]string

func (l *labels) UnmarshalText(text []byte) error {
	return json.Unmarshal(text, (*map[string]string)(l))
}

type center struct {
	Connection
	Tags config.List `gcfg:"tags"`
}

// Connection is embedded, as shared keys are.
type Connection struct {
	Server   string        `gcfg:"server"`
	Password config.Secret `gcfg:"password"`
}

func schema() config.Schema {
	return config.Schema{
		Aliases: map[string]string{"vcenter": "VirtualCenter"},
		Foreign: map[config.Name]string{
			{Section: "Workspace"}:                       "the in-tree provider reads it",
			{Section: "Global", Key: "service-account"}:  "it is no longer used",
			{Section: "VirtualCenter", Key: "datastore"}: "the CSI driver reads it",
		},
	}
}

func parse(t *testing.T, text string) *config.File {
	t.Helper()
	file, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}

	return file
}

// describe writes problems the way cmd prints them.
func describe(problems config.Problems) []string {
	var lines []string
	for _, problem := range problems {
		lines = append(lines, problem.Severity.String()+": "+problem.String())
	}

	return lines
}

func compare(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("%s: -want +got:\n%s", what, diff)
	}
}
