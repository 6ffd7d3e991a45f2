package aws

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
)

// plansDir has the golden cases and what they have in common. Its README.md
// describes both.
var plansDir = filepath.Join("testdata", "plans")

// planFiles are the files of plansDir, parsed once.
var planFiles = sync.OnceValues(func() ([]*planFile, error) { return readPlanFiles(plansDir) })

// planKinds are the kinds of load balancers by the first word of file names.
var planKinds = map[string]request.Kind{
	"classic": request.Classic, "network": request.Network, "unmanaged": request.Unmanaged,
}

// planFile is a txtar file with the cases of one subject.
type planFile struct {
	// name is that of the file, without its extension.
	name    string
	kind    request.Kind
	archive *txtar.Archive
	cases   []*planCase
}

// planCase is a Service and what is observed for it, with the wanted plan.
type planCase struct {
	name, reason string
	service      *v1.Service
	fixture      *planFixture
	plan         string
}

// planTemplates are the YAML files of plansDir, as JSON by their names without
// extension.
type planTemplates map[string][]byte

// readPlanFiles parses all files of a directory. A file of another type is an
// error, so that no case is skipped.
func readPlanFiles(dir string) ([]*planFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	templates, texts := planTemplates{}, map[string][]byte{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		name, extension, _ := strings.Cut(entry.Name(), ".")
		switch extension {
		case "yaml":
			if templates[name], err = yaml.YAMLToJSONStrict(data); err != nil {
				return nil, fmt.Errorf("%s: %w", entry.Name(), err)
			}
		case "txtar":
			texts[name] = data
		case "md":
		default:
			return nil, fmt.Errorf("%s: neither a txtar nor a YAML file", entry.Name())
		}
	}
	var files []*planFile
	for name, data := range texts {
		file, err := parsePlanFile(name, data, templates)
		if err != nil {
			return nil, fmt.Errorf("%s.txtar: %w", name, err)
		}
		files = append(files, file)
	}

	return files, nil
}

// parsePlanFile parses the sections of a file.
func parsePlanFile(name string, data []byte, templates planTemplates) (*planFile, error) {
	kind, _, _ := strings.Cut(name, "-")
	f := &planFile{name: name, kind: planKinds[kind], archive: txtar.Parse(data)}
	if f.kind == "" {
		return nil, errors.New("the name does not begin with a kind of load balancer")
	}
	if !bytes.Equal(txtar.Format(f.archive), data) {
		return nil, errors.New("blanks or line endings differ from those that -update writes")
	}
	var common []byte
	sections := f.archive.Files
	if len(sections) > 0 && sections[0].Name == "service" {
		common, sections = sections[0].Data, sections[1:]
	}
	for len(sections) > 0 {
		own := 1
		for own < len(sections) && strings.HasPrefix(sections[own].Name, sections[0].Name+"/") {
			own++
		}
		c, err := parsePlanCase(sections[:own], common, templates)
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", sections[0].Name, err)
		}
		if err := f.add(c); err != nil {
			return nil, fmt.Errorf("case %s: %w", c.name, err)
		}
		sections = sections[own:]
	}
	if len(f.cases) == 0 {
		return nil, errors.New("no cases")
	}

	return f, nil
}

// add adds a case, which must be of the kind of the file.
func (f *planFile) add(c *planCase) error {
	if kind := request.KindOf(c.service); kind != f.kind {
		return fmt.Errorf("the service is of kind %s", kind)
	}
	if slices.ContainsFunc(f.cases, func(other *planCase) bool { return other.name == c.name }) {
		return errors.New("there is another case of this name")
	}
	f.cases = append(f.cases, c)

	return nil
}

// parsePlanCase parses the sections of a case, the first of which is its reason.
func parsePlanCase(sections []txtar.File, common []byte, templates planTemplates) (*planCase, error) {
	c := &planCase{name: sections[0].Name, reason: strings.TrimSpace(string(sections[0].Data))}
	if strings.Contains(c.name, "/") {
		return nil, errors.New("does not follow its case")
	}
	if c.reason == "" {
		return nil, errors.New("no reason")
	}
	texts := map[string][]byte{}
	for _, section := range sections[1:] {
		part := strings.TrimPrefix(section.Name, c.name+"/")
		if !slices.Contains([]string{"service", "observed", "plan"}, part) {
			return nil, fmt.Errorf("unknown section %s", section.Name)
		}
		if _, repeated := texts[part]; repeated {
			return nil, fmt.Errorf("two sections %s", section.Name)
		}
		texts[part] = section.Data
	}
	plan, found := texts["plan"]
	if !found {
		return nil, errors.New("no plan")
	}
	if c.plan = strings.TrimRight(string(plan), "\n"); c.plan != "" {
		c.plan += "\n"
	}
	var err error
	if c.service, err = templates.service(common, texts["service"]); err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	if c.fixture, err = templates.fixture(texts["observed"]); err != nil {
		return nil, fmt.Errorf("observed: %w", err)
	}

	return c, nil
}

// service returns the Service of service.yaml with what a file and a case change.
func (p planTemplates) service(common, own []byte) (*v1.Service, error) {
	svc := &v1.Service{}

	return svc, decodePatched(svc, p["service"], common, own)
}

// fixture returns observed.yaml with what the files that a case lists and the case
// itself change.
func (p planTemplates) fixture(own []byte) (*planFixture, error) {
	lists := struct{ From []string }{}
	if err := yaml.Unmarshal(own, &lists); err != nil {
		return nil, err
	}
	document := p["observed"]
	for _, name := range lists.From {
		if p[name] == nil {
			return nil, fmt.Errorf("there is no %s.yaml", name)
		}
		var err error
		if document, err = jsonpatch.MergePatch(document, p[name]); err != nil {
			return nil, err
		}
	}
	f := &planFixture{}
	if err := decodePatched(f, document, own); err != nil {
		return nil, err
	}
	if f.BadNetworkSetting != "" {
		f.Config.BadNetworkSetting = errors.New(f.BadNetworkSetting)
	}

	return f, nil
}

// decodePatched applies merge patches (RFC 7386) in YAML to a JSON document and
// decodes the result.
func decodePatched(into any, document []byte, patches ...[]byte) error {
	for _, patch := range patches {
		if len(bytes.TrimSpace(patch)) == 0 {
			continue
		}
		patch, err := yaml.YAMLToJSONStrict(patch)
		if err != nil {
			return err
		}
		if document, err = jsonpatch.MergePatch(document, patch); err != nil {
			return err
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()

	return decoder.Decode(into)
}

// format returns the text of the file with new plans, by the names of their cases,
// and without any other change.
func (f *planFile) format(plans map[string]string) []byte {
	sections := slices.Clone(f.archive.Files)
	for i, section := range sections {
		name, isPlan := strings.CutSuffix(section.Name, "/plan")
		if plan, known := plans[name]; isPlan && known {
			sections[i].Data = []byte(plan + "\n")
		}
	}
	text := txtar.Format(&txtar.Archive{Comment: f.archive.Comment, Files: sections})

	return append(bytes.TrimRight(text, "\n"), '\n')
}
