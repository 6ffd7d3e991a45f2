package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/all"
)

// commandLinePage lists the flags that are ours, and the defaults that we
// change.
func commandLinePage(l *library) (string, error) {
	defaults, err := changedDefaults(l)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("\n## Changed defaults\n\nA flag takes precedence over the cloud-config, and the cloud-config over these defaults.\n\n")
	b.WriteString("| Flag | Default | Kubernetes default | Key in the cloud-config |\n|---|---|---|---|\n")
	for _, d := range defaults {
		fmt.Fprintf(&b, "| `--%s` | %s | %s | `%s` |\n", d.flag, d.ours, d.theirs, d.key)
	}
	for _, d := range all.Descriptors() {
		if d.AddFlags == nil {
			continue
		}
		fmt.Fprintf(&b, "\n## Flags for %s\n\n| Flag | Default | Meaning |\n|---|---|---|\n", d.Summary)
		flags := pflag.NewFlagSet(d.Name, pflag.ContinueOnError)
		d.AddFlags(flags)
		flags.VisitAll(func(f *pflag.Flag) {
			fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", f.Name, prose(f.DefValue), prose(f.Usage))
		})
	}

	return b.String(), nil
}

// changedDefault is a flag of the framework with a default of ours.
type changedDefault struct {
	flag, ours, theirs string
	key                config.Name
}

// changedDefaults are those that [Controllers] sets: its keys are called like
// the flags.
func changedDefaults(l *library) ([]changedDefault, error) {
	theirs, err := frameworkDefaults()
	if err != nil {
		return nil, err
	}
	settings := config.NewSettings()
	sections, err := l.sections(settings)
	if err != nil {
		return nil, err
	}
	var list []changedDefault
	values := reflect.ValueOf(settings.Controllers)
	for _, s := range sections {
		if s.name.Section != "Controllers" {
			continue
		}
		for i, k := range s.keys {
			was, ok := theirs[k.name.Key]
			if !ok {
				return nil, fmt.Errorf("%s is no flag of the framework", k.name)
			}
			list = append(list, changedDefault{k.name.Key, fmt.Sprint(values.Field(i).Elem()), was, k.name})
		}
	}

	return list, nil
}

// frameworkDefaults are the defaults of all flags as Kubernetes ships them.
func frameworkDefaults() (map[string]string, error) {
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("make the options: %w", err)
	}
	defaults := map[string]string{}
	sets := opts.Flags(app.ControllerNames(app.DefaultInitFuncConstructors), app.ControllersDisabledByDefault.List(),
		names.CCMControllerAliases(), nil, nil)
	for _, flags := range sets.FlagSets {
		flags.VisitAll(func(f *pflag.Flag) { defaults[f.Name] = f.DefValue })
	}

	return defaults, nil
}
