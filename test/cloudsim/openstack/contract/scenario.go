package contract

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed scenarios/*.yaml
var scenarioFiles embed.FS

// services are the names that a request may use.
var services = []string{"identity", "compute", "network", "load-balancer"}

// Scenario is a file of steps on one subject.
type Scenario struct {
	// Name is the name of the file without its extension, such as
	// octavia-members. The part before the first dash is the API.
	Name string `json:"-"`
	// About is one sentence on what the scenario shows.
	About string `json:"about"`
	// Steps run in order.
	Steps []Step `json:"steps"`

	// text is the file: addresses that it contains are not replaced by
	// placeholders.
	text string
}

// API is the part of the name before the first dash: keystone, nova, neutron or
// octavia.
func (s *Scenario) API() string {
	api, _, _ := strings.Cut(s.Name, "-")

	return api
}

// Step is one request or one fixture; see the package comment.
type Step struct {
	Name    string            `json:"step"`
	As      string            `json:"as,omitempty"`
	Request string            `json:"request,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Body is sent as JSON.
	Body json.RawMessage `json:"body,omitempty"`
	// Raw is sent as it is, with Content-Type application/json.
	Raw     string            `json:"raw,omitempty"`
	Capture map[string]string `json:"capture,omitempty"`
	Until   string            `json:"until,omitempty"`
	// Unordered sorts lists in the response, where the API gives no order.
	Unordered bool `json:"unordered,omitempty"`
	// Brief records the status only.
	Brief   bool           `json:"brief,omitempty"`
	Fixture string         `json:"fixture,omitempty"`
	With    map[string]any `json:"with,omitempty"`
	// Kinds count what the step covers: list (filters or paging), state (a
	// write refused by a state), policy (a refusal by quota or policy), version.
	Kinds []string `json:"kinds,omitempty"`
}

// method, service and path are the words of Request.
func (s *Step) words() (method, service, path string, err error) {
	w := strings.Fields(s.Request)
	if len(w) != 3 || !slices.Contains(services, w[1]) || !strings.HasPrefix(w[2], "/") {
		return "", "", "", fmt.Errorf("request %q is not \"METHOD service /path\"", s.Request)
	}

	return w[0], w[1], w[2], nil
}

// Scenarios returns all scenarios in the order of their names.
func Scenarios() ([]*Scenario, error) {
	names, err := fs.Glob(scenarioFiles, "scenarios/*.yaml")
	if err != nil {
		return nil, err
	}
	all := make([]*Scenario, 0, len(names))
	for _, name := range names {
		text, err := scenarioFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s, err := Parse(strings.TrimSuffix(path.Base(name), ".yaml"), text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}

	return all, nil
}

// Parse reads a scenario and returns all its mistakes at once.
func Parse(name string, text []byte) (*Scenario, error) {
	s := &Scenario{Name: name, text: string(text)}
	if err := yaml.UnmarshalStrict(text, s); err != nil {
		return nil, fmt.Errorf("parse scenario %s: %w", name, err)
	}
	var errs []error
	seen := map[string]bool{}
	for i := range s.Steps {
		step := &s.Steps[i]
		if step.Name == "" || seen[step.Name] {
			errs = append(errs, fmt.Errorf("scenario %s, step %d: name %q is empty or not unique", name, i+1, step.Name))
		}
		seen[step.Name] = true
		if err := step.check(); err != nil {
			errs = append(errs, fmt.Errorf("scenario %s, step %q: %w", name, step.Name, err))
		}
	}

	return s, errors.Join(errs...)
}

// check returns what is wrong with the form of a step and sets its default user.
func (s *Step) check() error {
	if s.As == "" {
		s.As = "ccm"
	}
	for _, key := range []string{"true", "false"} {
		if _, ok := s.With[key]; ok {
			return fmt.Errorf("argument %q: quote keys such as on and off, which are booleans in YAML", key)
		}
	}
	if s.Fixture != "" {
		if s.Request != "" || s.Until != "" || s.Body != nil || s.Raw != "" {
			return errors.New("fixture and request exclude each other")
		}

		return nil
	}
	if s.With != nil {
		return errors.New("with belongs to a fixture")
	}
	if s.Body != nil && s.Raw != "" {
		return errors.New("body and raw exclude each other")
	}
	for _, k := range s.Kinds {
		if !slices.Contains([]string{"list", "state", "policy", "version"}, k) {
			return fmt.Errorf("unknown kind %q", k)
		}
	}
	if s.Until != "" && !strings.Contains(s.Until, "=") {
		return fmt.Errorf("until %q is not field=value", s.Until)
	}
	_, _, _, err := s.words()

	return err
}
