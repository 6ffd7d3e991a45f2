package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/all"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// configPage lists every section and key that a cloud-config can have.
func configPage(l *library) (string, error) {
	p, err := newConfigWriter(l)
	if err != nil {
		return "", err
	}
	p.WriteString("\n## Every provider\n")
	if err := p.sections(config.NewSettings(), config.Schema{}, true); err != nil {
		return "", err
	}
	for _, d := range all.Descriptors() {
		if err := p.provider(d); err != nil {
			return "", err
		}
	}

	return p.String(), nil
}

// configWriter writes the page.
type configWriter struct {
	strings.Builder
	library *library
	// yaml is a file that names are spelled in.
	yaml *config.File
}

func newConfigWriter(l *library) (*configWriter, error) {
	yaml, err := config.Parse("cloud-config", []byte("global: {}\n"))

	return &configWriter{library: l, yaml: yaml}, err
}

func (p *configWriter) provider(d provider.Descriptor) error {
	fmt.Fprintf(&p.Builder, "\n## %s\n", d.Summary)
	if err := p.sections(d.Reference.Config, d.Reference.Schema, d.Reference.YAML); err != nil {
		return err
	}
	p.environment(d.Reference.Environment)
	p.others(d.Reference.Schema)

	return nil
}

func (p *configWriter) sections(target any, schema config.Schema, yaml bool) error {
	list, err := p.library.sections(target)
	if err != nil {
		return err
	}
	for _, s := range list {
		fmt.Fprintf(&p.Builder, "\n### `%s`\n", s.name)
		if yaml {
			fmt.Fprintf(&p.Builder, "\nIn YAML: `%s`\n", p.yaml.Spell(schema, s.name))
		}
		if s.text != "" {
			fmt.Fprintf(&p.Builder, "\n%s\n", prose(s.text))
		}
		p.keys(s, schema, yaml)
	}

	return nil
}

func (p *configWriter) keys(s section, schema config.Schema, yaml bool) {
	columns := []string{"Key", "Value", "Default", "Meaning"}
	if yaml {
		columns = slices.Insert(columns, 1, "In YAML")
	}
	p.row(columns...)
	p.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	for _, k := range s.keys {
		cells := []string{"`" + k.name.Key + "`", k.kind, prose(k.fallback), prose(k.text)}
		if yaml {
			spelled := strings.TrimPrefix(p.yaml.Spell(schema, k.name), p.yaml.Spell(schema, s.name)+".")
			cells = slices.Insert(cells, 1, "`"+spelled+"`")
		}
		p.row(cells...)
	}
}

// environment lists the variables that have an effect.
func (p *configWriter) environment(variables []provider.Variable) {
	if len(variables) == 0 {
		return
	}
	p.WriteString("\n### Environment variables\n\nEnvironment variables take precedence over the file.\n")
	p.row("Variable", "Effect")
	p.WriteString("|---|---|\n")
	for _, v := range variables {
		does := prose(v.Help)
		if v.Sets != (config.Name{}) {
			does = strings.TrimSpace("Sets `" + v.Sets.String() + "`. " + does)
		}
		p.row("`"+v.Name+"`", does)
	}
}

// others lists the names that are known and do nothing here, by the reason.
func (p *configWriter) others(schema config.Schema) {
	names := map[string][]string{}
	for name, owner := range schema.Foreign {
		names[owner] = append(names[owner], "`"+name.String()+"`")
	}
	if len(names) == 0 {
		return
	}
	p.WriteString("\n### Ignored names\n\nThese names are accepted and have no effect, even in strict mode.\n")
	p.row("Reason", "Names")
	p.WriteString("|---|---|\n")
	for _, why := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[why])
		p.row(prose(why), strings.Join(names[why], ", "))
	}
}

// row writes a line of a table, after a blank one if it is the first.
func (p *configWriter) row(cells ...string) {
	if !strings.HasSuffix(p.String(), "|\n") {
		p.WriteByte('\n')
	}
	p.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// prose escapes what Markdown would render as a table or as HTML.
func prose(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(text)
}
