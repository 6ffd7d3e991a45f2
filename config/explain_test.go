package config_test

import (
	"fmt"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text string
		want []string
	}{
		"INI": {
			text: "[Global]\nname = a\nname = b\ntoken = s3cret\nzones = x,y\nlimit = 3\n[VCenter \"west\"]\npassword = s3cret\n[VirtualCenter \"east\"]\nserver = inherited\n",
			want: []string{
				"[Global] name = b | cloud.conf:3:1",
				"[Global] token = <redacted> | cloud.conf:4:1",
				"[Global] ca-file =  | environment CA_FILE",
				"[Global] count = 0 | default",
				"[Global] insecure = false | default",
				"[Global] wait = 0s | default",
				"[Global] zones = x,y | cloud.conf:5:1",
				"[Global] nets =  | default",
				"[Global] limit = 3 | cloud.conf:6:1",
				"[Global] hosts =  | default",
				"[Global] labels = map[] | default",
				`[VirtualCenter "east"] server = inherited | inherited from [Global]`,
				`[VirtualCenter "east"] password =  | default`,
				`[VirtualCenter "east"] tags =  | default`,
				`[VirtualCenter "west"] server =  | default`,
				`[VirtualCenter "west"] password = <redacted> | cloud.conf:8:1`,
				`[VirtualCenter "west"] tags =  | default`,
			},
		},
		"URL": {
			text: "[Global]\nname = https://me:s3cret@keystone.example.com/v3?token=s3cret\nca-file = a\nzones = https://me:s3cret@a\n",
			want: []string{
				"[Global] name = https://<redacted>@keystone.example.com/v3?token=<redacted> | cloud.conf:2:1",
				"[Global] token =  | default",
				"[Global] ca-file = a | environment CA_FILE",
				"[Global] count = 0 | default",
				"[Global] insecure = false | default",
				"[Global] wait = 0s | default",
				"[Global] zones = https://<redacted>@a | cloud.conf:4:1",
				"[Global] nets =  | default",
				"[Global] limit =  | default",
				"[Global] hosts =  | default",
				"[Global] labels = map[] | default",
			},
		},
		"YAML": {
			text: "global:\n  name: b\n  count:\n  wait: 1m\n  nets: [10.0.0.0/8]\n",
			want: []string{
				"[Global] name = b | cloud.conf:2:3",
				"[Global] token =  | default",
				"[Global] ca-file =  | environment CA_FILE",
				"[Global] count = 0 | default",
				"[Global] insecure = false | default",
				"[Global] wait = 1m0s | cloud.conf:4:3",
				"[Global] zones =  | default",
				"[Global] nets = 10.0.0.0/8 | cloud.conf:5:3",
				"[Global] limit =  | default",
				"[Global] hosts =  | default",
				"[Global] labels = map[] | default",
			},
		},
	}
	origins := config.Origins{
		{Section: "Global", Key: "ca-file"}:                     "environment CA_FILE",
		{Section: "VirtualCenter", Sub: "east", Key: "server"}:  "inherited from [Global]",
		{Section: "VirtualCenter", Sub: "north", Key: "server"}: "an entry that is not there",
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			var own cloud
			file := parse(t, tc.text)
			if err := file.Decode(schema(), &own).Err(); err != nil {
				t.Fatal(err)
			}
			for _, s := range file.Explain(schema(), origins, &own) {
				got = append(got, fmt.Sprintf("%s = %s | %s", s.Name, s.Value, s.Source))
			}
			compare(t, "settings in the order they are declared, subsections sorted", tc.want, got)
		})
	}
}
