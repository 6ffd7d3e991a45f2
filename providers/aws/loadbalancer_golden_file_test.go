package aws

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/golden"
)

// plansDir has the golden cases and what they have in common. Its README.md
// describes both.
var plansDir = filepath.Join("testdata", "plans")

// planFiles are the files of plansDir, parsed once.
var planFiles = sync.OnceValues(readPlanFiles)

// planKinds are the kinds of load balancers by the first word of file names.
var planKinds = map[string]request.Kind{
	"classic": request.Classic, "network": request.Network, "unmanaged": request.Unmanaged,
}

// planFile is a file with the cases of one subject, by their names.
type planFile struct {
	*golden.File

	cases map[string]*planCase
}

// planCase is a Service and what is observed for it.
type planCase struct {
	golden.Case

	service *v1.Service
	fixture *planFixture
}

func readPlanFiles() ([]*planFile, error) {
	parsed, templates, err := golden.ReadDir(plansDir, "service", "observed")
	if err != nil {
		return nil, err
	}
	var files []*planFile
	for _, file := range parsed {
		f := &planFile{File: file, cases: map[string]*planCase{}}
		for _, c := range file.Cases {
			if f.cases[c.Name], err = f.parse(c, templates); err != nil {
				return nil, fmt.Errorf("%s.txtar: case %s: %w", f.Name, c.Name, err)
			}
		}
		files = append(files, f)
	}

	return files, nil
}

// parse decodes the parts of a case.
func (f *planFile) parse(of golden.Case, templates golden.Templates) (*planCase, error) {
	c := &planCase{Case: of, service: &v1.Service{}, fixture: &planFixture{}}
	if err := templates.Decode(c.service, "service", f.Service, c.Parts["service"]); err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	if err := templates.Decode(c.fixture, "observed", c.Parts["observed"]); err != nil {
		return nil, fmt.Errorf("observed: %w", err)
	}
	if text := c.fixture.BadNetworkSetting; text != "" {
		c.fixture.Config.BadNetworkSetting = errors.New(text)
	}
	word, _, _ := strings.Cut(f.Name, "-")
	if kind := request.KindOf(c.service); kind != planKinds[word] {
		return nil, fmt.Errorf("the service is of kind %s", kind)
	}

	return c, nil
}
