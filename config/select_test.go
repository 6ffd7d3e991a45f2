package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// TestSelect goes through FW-CONFIG-1, FW-CONFIG-2 and FW-CONFIG-23, every row of the table at
// Select.
func TestSelect(t *testing.T) {
	t.Parallel()
	registered := []string{"vsphere", "aws", "openstack"}
	const known = "aws, openstack, vsphere"
	given := func(name string) config.Flag { return config.Flag{Value: name, Set: true} }
	cases := map[string]struct {
		reason string
		// text is the file; noFile means that there is none.
		text   string
		noFile bool
		flag   config.Flag
		want   string
		errs   []string
	}{
		"key":                          {reason: "the file chooses", text: "[Global]\nprovider = aws\n", want: "aws"},
		"key in YAML":                  {reason: "one detection for all", text: "global:\n  provider: vsphere\n", want: "vsphere"},
		"key, flag at default":         {reason: "a default is no choice", text: "[Global]\nprovider = aws\n", flag: config.Flag{Value: "openstack"}, want: "aws"},
		"key, last one":                {reason: "as gcfg does", text: "[Global]\nprovider = vsphere\n[global]\nPROVIDER = aws\n", want: "aws"},
		"flag":                         {reason: "old files with old command lines", text: "[Global]\nuser = a\n", flag: given("vsphere"), want: "vsphere"},
		"flag, no file":                {reason: "old command lines without a file", noFile: true, flag: given("aws"), want: "aws"},
		"flag, empty file":             {reason: "the same", text: "", flag: given("aws"), want: "aws"},
		"both agree":                   {reason: "fine", text: "[Global]\nprovider = aws\n", flag: given("aws"), want: "aws"},
		"both differ":                  {reason: "neither may win", text: "[Global]\nprovider = aws\n", flag: given("vsphere"), errs: []string{`cloud.conf:2:1: [Global] provider is "aws" but --cloud-provider is "vsphere"`}},
		"both differ in YAML":          {reason: "the same", text: "global: {provider: aws}\n", flag: given("vsphere"), errs: []string{`cloud.conf:1:10: global.provider is "aws" but --cloud-provider is "vsphere"`}},
		"neither":                      {reason: "lists the names", text: "[Global]\nuser = a\n", errs: []string{"no cloud provider chosen: set [Global] provider in cloud.conf to one of: " + known}},
		"neither in YAML":              {reason: "in its spelling", text: "global: {user: a}\n", errs: []string{"set global.provider in cloud.conf to one of: " + known}},
		"neither, empty file":          {reason: "the error reports it", text: "# nothing\n", errs: []string{"cloud.conf is empty: set [Global] provider in it to one of: " + known}},
		"neither, no file":             {reason: "the error names what can be given", noFile: true, errs: []string{"give a --cloud-config with [Global] provider, or --cloud-provider; known are: " + known}},
		"flag given empty":             {reason: "counts as not given", text: "[Global]\nprovider = aws\n", flag: given(""), want: "aws"},
		"key empty":                    {reason: "a key must have a value", text: "[Global]\nprovider = \"\"\n", flag: given("aws"), errs: []string{"cloud.conf:2:1: [Global] provider is empty: set it to one of: " + known}},
		"key blank":                    {reason: "a key must have a value", text: "[Global]\nprovider\n", errs: []string{"cloud.conf:2:1: [Global] provider is empty: set it to one of: " + known}},
		"key null":                     {reason: "unset", text: "global:\n  provider:\n", flag: given("aws"), want: "aws"},
		"key with a name":              {reason: "[Global \"x\"] is another section", text: "[Global \"x\"]\nprovider = aws\n", errs: []string{"no cloud provider chosen", "\ncloud.conf:1:1: section [Global] takes no name in quotes"}},
		"section mistyped":             {reason: "the one for the provider", text: "[Gobal]\nprovider = aws\n", errs: []string{"no cloud provider chosen", "\ncloud.conf:1:1: unknown section [Gobal], did you mean [Global]?"}},
		"key mistyped":                 {reason: "the same", text: "[Global]\nprovder = aws\n", errs: []string{"\ncloud.conf:2:1: unknown key [Global] provder, did you mean provider?"}},
		"another key":                  {reason: "the same", text: "[Global]\ncloud-provider = aws\n", errs: []string{"\ncloud.conf:2:1: unknown key [Global] cloud-provider, did you mean provider?"}},
		"key in another section":       {reason: "the same", text: "[AWS]\nprovider = aws\n", errs: []string{"\ncloud.conf:2:1: [AWS] provider is in the wrong section, did you mean [Global] provider?"}},
		"key without a section":        {reason: "the same", text: "provider: vsphere\n", errs: []string{"\ncloud.conf:1:1: provider is in the wrong section, did you mean global.provider?"}},
		"section mistyped in YAML":     {reason: "the same", text: "golbal: {provider: vsphere}\n", errs: []string{"\ncloud.conf:1:1: unknown section golbal, did you mean global?"}},
		"no section in YAML":           {reason: "the same", text: "global: [provider]\n", errs: []string{"\ncloud.conf:1:1: global must be a mapping"}},
		"unknown key":                  {reason: "known names are listed", text: "[Global]\nprovider = gcp\n", errs: []string{`cloud.conf:2:1: [Global] provider: unknown provider "gcp", known are: ` + known}},
		"unknown flag":                 {reason: "known names are listed", noFile: true, flag: given("gcp"), errs: []string{`--cloud-provider: unknown provider "gcp", known are: ` + known}},
		"mistyped":                     {reason: "the nearest name", text: "[Global]\nprovider = vpshere\n", errs: []string{`unknown provider "vpshere", known are: ` + known + `, did you mean "vsphere"?`}},
		"case":                         {reason: "names are case-sensitive", text: "[Global]\nprovider = AWS\n", errs: []string{`unknown provider "AWS", known are: ` + known + `, did you mean "aws"?`}},
		"external key":                 {reason: "InitCloudProvider would return nil", text: "[Global]\nprovider = external\n", errs: []string{`unknown provider "external", known are: ` + known, "is no provider"}},
		"external flag":                {reason: "the same", noFile: true, flag: given("external"), errs: []string{`--cloud-provider: unknown provider "external", known are: ` + known}},
		"paravirtual":                  {reason: "an unknown name whose error reports that it is not supported", noFile: true, flag: given("vsphere-paravirtual"), errs: []string{`unknown provider "vsphere-paravirtual"`, "paravirtual mode is not"}},
		"unparsable, flag":             {reason: "the provider reports the file", text: "[Global", flag: given("aws"), want: "aws"},
		"unparsable, no flag":          {reason: "the error of the format that the file has", text: "[Global", errs: []string{"cloud.conf:1:8: a section must end with ]"}},
		"unparsable, empty flag":       {reason: "an empty flag is none", text: "[Global", flag: given(""), errs: []string{"cloud.conf:1:8: "}},
		"bad value in another section": {reason: "is the provider's to report", text: "[Global]\nprovider = aws\n[Controllers]\nkube-api-qps = x\n", want: "aws"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var file *config.File
			var parseErr error
			if !tc.noFile {
				file, parseErr = config.Parse("cloud.conf", []byte(tc.text))
			}
			got, err := config.Select(file, parseErr, tc.flag, registered)
			if got != tc.want || (err == nil) != (len(tc.errs) == 0) {
				t.Errorf("%s: want %q, got %q, %v", tc.reason, tc.want, got, err)
			}
			for _, want := range tc.errs {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: want %q in: %v", tc.reason, want, err)
				}
			}
		})
	}
}

func TestSelectUnreadable(t *testing.T) {
	t.Parallel()
	cause := errors.New("permission denied")
	if _, err := config.Select(nil, cause, config.Flag{}, []string{"aws"}); !errors.Is(err, cause) {
		t.Errorf("flag not set: want the cause, got %v", err)
	}
	if name, err := config.Select(nil, cause, config.Flag{Value: "aws", Set: true}, []string{"aws"}); name != "aws" || err != nil {
		t.Errorf("flag set: want aws, got %q, %v", name, err)
	}
}
