package aws

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
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
	*awstest.GoldenFile

	kind  request.Kind
	cases []*planCase
}

// planCase is a Service and what is observed for it, with the wanted plan.
type planCase struct {
	awstest.GoldenCase

	service *v1.Service
	fixture *planFixture
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
	f := &planFile{kind: planKinds[kind]}
	if f.kind == "" {
		return nil, errors.New("the name does not begin with a kind of load balancer")
	}
	var err error
	if f.GoldenFile, err = awstest.ParseGolden(name, data, "service", "observed"); err != nil {
		return nil, err
	}
	for _, golden := range f.Cases {
		c, err := parsePlanCase(golden, f.Service, templates)
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", golden.Name, err)
		}
		if kind := request.KindOf(c.service); kind != f.kind {
			return nil, fmt.Errorf("case %s: the service is of kind %s", c.Name, kind)
		}
		f.cases = append(f.cases, c)
	}

	return f, nil
}

// parsePlanCase decodes the parts of a case.
func parsePlanCase(golden awstest.GoldenCase, common []byte, templates planTemplates) (*planCase, error) {
	c := &planCase{GoldenCase: golden}
	var err error
	if c.service, err = templates.service(common, c.Parts["service"]); err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	if c.fixture, err = templates.fixture(c.Parts["observed"]); err != nil {
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
