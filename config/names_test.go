package config_test

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

func TestSections(t *testing.T) {
	t.Parallel()
	var target struct {
		Global struct {
			Name string `gcfg:"name"`
		}
		VirtualCenter map[string]*struct {
			Server string `gcfg:"server"`
		}
	}
	var more struct {
		Global struct {
			Provider string `gcfg:"provider"`
		}
	}
	schema := config.Schema{
		Aliases: map[string]string{"vcenter": "VirtualCenter"},
		Foreign: map[config.Name]string{{Section: "Disk"}: "another program reads it", {Section: "Global", Key: "datastore"}: "another program reads it"},
	}
	compare(t, "what files can have", []config.Section{
		{Names: []string{"Disk"}},
		{Names: []string{"Global"}, Keys: []string{"datastore", "name", "provider"}},
		{Names: []string{"VirtualCenter", "vcenter"}, Keys: []string{"server"}, Subsections: true},
	}, config.Sections(schema, &more, &target))
}
