package chart

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// plain is a section whose keys are all kinds of values.
type plain struct {
	Text    string   `gcfg:"text"`
	Yes     bool     `gcfg:"yes"`
	No      bool     `gcfg:"no"`
	Big     int64    `gcfg:"big"`
	Less    int      `gcfg:"less"`
	Ratio   float64  `gcfg:"ratio"`
	Null    string   `gcfg:"null"`
	Missing []string `gcfg:"missing"`
}

// written is a cloud-config with a list in either form.
type written[L ~[]string] struct {
	Global struct {
		Provider string `gcfg:"provider"`
		First    string `gcfg:"first"`
	}
	Plain plain
	Lists struct {
		List  L `gcfg:"list"`
		Other L `gcfg:"other"`
	}
	Sub map[string]*struct {
		Text string `gcfg:"text"`
	}
}

// texts are what strings of a cloud-config can have.
func texts() []string {
	return []string{
		"plain", "", " spaces around ", "#hash", "semi;colon", `"quoted"`, `back\slash`, `ends with \`, `\n is no line break`,
		"two\nlines", "tab\tstop", "é", "日本語", "<html>&amp;", "{{ .Values.provider }}", "$HOME `x`", "'single'", "true", "1e6", "007",
		"a,b", `a\,b`, "[Section]", "key = value", "%s%d", "\u2028", strings.Repeat("x", 3000),
	}
}

// What a values file has is what the process reads, whatever is in the strings.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	t.Run("aws", func(t *testing.T) {
		t.Parallel()
		roundTrip[[]string](t, "aws", texts())
	})
	t.Run("openstack", func(t *testing.T) {
		t.Parallel()
		roundTrip[[]string](t, "openstack", texts())
	})
	t.Run("vsphere", func(t *testing.T) {
		t.Parallel()
		// Lists with commas are trimmed, and have no empty items.
		items := slices.DeleteFunc(texts(), func(text string) bool { return strings.TrimSpace(text) != text || text == "" })
		roundTrip[config.List](t, "vsphere", items)
	})
}

// roundTrip compares a cloud-config, as it is read, with its values.
func roundTrip[L ~[]string](t *testing.T, provider string, items []string) {
	t.Helper()
	sub, want := map[string]any{}, written[L]{}
	want.Global.Provider, want.Global.First = provider, "x"
	want.Plain = plain{Yes: true, Big: 9007199254740991, Less: -1, Ratio: 0.25}
	want.Lists.List, want.Lists.Other = items, L{"1", "true", "2"}
	want.Sub = map[string]*struct {
		Text string `gcfg:"text"`
	}{}
	for i, text := range texts() {
		name := fmt.Sprintf("%d", i)
		if !strings.ContainsAny(text, "\n\t") && len(text) < 100 { // a key of YAML is short
			name += text
		}
		sub[name] = map[string]any{"text": text}
		want.Sub[name] = &struct {
			Text string `gcfg:"text"`
		}{text}
	}
	sections := map[string]any{
		"global": map[string]any{"first": "x", "Provider": provider},
		"Plain": map[string]any{
			"yes": true, "no": false, "big": 9007199254740991, "less": -1, "ratio": 0.25, "null": nil, "missing": []string{},
		},
		"Lists": map[string]any{"list": items, "other": []any{1, true, "2"}},
		"Sub":   sub,
	}
	values, err := yaml.Marshal(map[string]any{"provider": provider, provider: map[string]any{"config": sections}})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, program := range programs {
		texts = append(texts, cloudConfig(t, template(t, helm.Release{Program: program, Values: string(values), AnyValues: true})))
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("the releases of Helm differ: %s", diff)
	}
	file, err := config.Parse("cloud.conf", []byte(texts[0]))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, texts[0])
	}
	got := written[L]{}
	if problems := file.Decode(config.Schema{}, &got); len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if name, err := file.Provider(); err != nil || name != provider {
		t.Errorf("provider is %q, %v", name, err)
	}
}

// cloudConfig returns the cloud-config in a rendering.
func cloudConfig(t *testing.T, manifest []byte) string {
	t.Helper()
	for _, object := range objects(t, manifest) {
		if text, ok := cloudConfigIn(t, object); ok {
			return text
		}
	}
	t.Fatalf("there is no cloud-config in:\n%s", manifest)

	return ""
}

// cloudConfigIn returns the cloud-config in a Secret, which encodes it, or in a ConfigMap.
func cloudConfigIn(t *testing.T, object *unstructured.Unstructured) (text string, ok bool) {
	t.Helper()
	text, ok, _ = unstructured.NestedString(object.Object, "data", "cloud.conf")
	if !ok || object.GetKind() != "Secret" {
		return text, ok
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}

	return string(content), true
}
