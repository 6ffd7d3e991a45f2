package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of one step.
const (
	requestTimeout = 60 * time.Second
	untilTimeout   = 180 * time.Second
	untilInterval  = 300 * time.Millisecond
)

// runner runs one scenario.
type runner struct {
	target   Target
	scenario *Scenario
	cloud    *Cloud
	vars     map[string]string
	tokens   map[string]string
	client   *http.Client
	norm     *normalizer
}

// Play runs a scenario against a target and returns the normalized responses.
func Play(ctx context.Context, target Target, s *Scenario) ([]Record, error) {
	cloud, err := target.Begin(ctx, s.Name)
	if err != nil {
		return nil, fmt.Errorf("begin scenario %s: %w", s.Name, err)
	}
	r := &runner{
		target: target, scenario: s, cloud: cloud, vars: maps.Clone(cloud.Vars), tokens: map[string]string{},
		norm: newNormalizer(cloud, s.text),
		client: &http.Client{
			Timeout:       requestTimeout,
			Transport:     &http.Transport{},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	defer r.client.CloseIdleConnections()
	var records []Record
	for i := range s.Steps {
		step := &s.Steps[i]
		if err := r.step(ctx, step, &records); err != nil {
			return records, fmt.Errorf("scenario %s, step %q: %w", s.Name, step.Name, err)
		}
	}

	return records, nil
}

// step runs one step and appends its record.
func (r *runner) step(ctx context.Context, step *Step, records *[]Record) error {
	if step.Fixture != "" {
		return r.fixture(ctx, step)
	}
	resp, err := r.send(ctx, step)
	if err != nil {
		return err
	}
	for name, expression := range step.Capture {
		value, err := captured(expression, resp.body, resp.header)
		if err != nil {
			return fmt.Errorf("capture %s from %d %s: %w", name, resp.status, resp.raw, err)
		}
		r.set(name, value)
	}
	record, err := r.norm.record(step, resp)
	if err != nil {
		return err
	}
	*records = append(*records, record)

	return nil
}

// set keeps a captured value.
func (r *runner) set(name, value string) {
	r.vars[name] = value
	r.norm.name(name, value)
}

// fixture runs a fixture step.
func (r *runner) fixture(ctx context.Context, step *Step) error {
	with, err := expandAll(step.With, r.vars)
	if err != nil {
		return err
	}
	args, _ := with.(map[string]any)
	object, err := r.target.Fixture(ctx, Fixture{Kind: step.Fixture, As: step.As, Args: args})
	if err != nil {
		return fmt.Errorf("fixture %s: %w", step.Fixture, err)
	}
	for name, path := range step.Capture {
		value, err := lookup(object, path)
		if err != nil {
			return fmt.Errorf("capture %s: %w", name, err)
		}
		r.set(name, text(value))
	}

	return nil
}

// send sends the request of a step, again and again if it has an until.
func (r *runner) send(ctx context.Context, step *Step) (*response, error) {
	ctx, cancel := context.WithTimeout(ctx, untilTimeout)
	defer cancel()
	for {
		resp, err := r.once(ctx, step)
		if err != nil || step.Until == "" {
			return resp, err
		}
		if reached(step.Until, resp) {
			return resp, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("until %s: last response %d %s: %w", step.Until, resp.status, resp.raw, ctx.Err())
		case <-time.After(untilInterval):
		}
	}
}

// reached reports whether the condition of an until holds.
func reached(until string, resp *response) bool {
	field, want, _ := strings.Cut(until, "=")
	if field == "status" {
		return strconv.Itoa(resp.status) == want
	}
	v, err := lookup(resp.body, field)

	return err == nil && text(v) == want
}

// once sends the request of a step.
func (r *runner) once(ctx context.Context, step *Step) (*response, error) {
	method, service, path, err := step.words()
	if err != nil {
		return nil, err
	}
	if path, err = expand(path, r.vars); err != nil {
		return nil, err
	}
	body, err := expand(string(step.Body)+step.Raw, r.vars)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, r.cloud.Endpoints[service]+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if step.As != "none" {
		token, err := r.token(ctx, step.As)
		if err != nil {
			return nil, err
		}
		req.Header.Set("X-Auth-Token", token)
	}
	for name, value := range step.Headers {
		if value, err = expand(value, r.vars); err != nil {
			return nil, err
		}
		req.Header.Set(name, value)
	}

	return r.do(req)
}

// do sends a request and reads the whole response.
func (r *runner) do(req *http.Request) (*response, error) {
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // the body is read to its end
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read response of %s %s: %w", req.Method, req.URL, err)
	}

	return newResponse(resp.StatusCode, resp.Header, raw), nil
}

// token returns a token of a user, one for the whole scenario.
func (r *runner) token(ctx context.Context, user string) (string, error) {
	if t := r.tokens[user]; t != "" {
		return t, nil
	}
	u, ok := r.cloud.Users[user]
	if !ok {
		return "", fmt.Errorf("no user %q", user)
	}
	body, err := json.Marshal(PasswordLogin(u))
	if err != nil {
		return "", err
	}
	url := r.cloud.Endpoints["identity"] + "/v3/auth/tokens"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.do(req)
	if err != nil {
		return "", err
	}
	if resp.status != http.StatusCreated {
		return "", fmt.Errorf("log in as %s: status %d: %s", user, resp.status, resp.raw)
	}
	r.tokens[user] = resp.header.Get("X-Subject-Token")

	return r.tokens[user], nil
}

// PasswordLogin is the body of a login of a user with a password and a project.
func PasswordLogin(u User) map[string]any {
	return map[string]any{"auth": map[string]any{
		"identity": map[string]any{
			"methods": []string{"password"},
			"password": map[string]any{"user": map[string]any{
				"name": u.Name, "password": u.Password, "domain": map[string]any{"name": "Default"},
			}},
		},
		"scope": map[string]any{"project": map[string]any{"id": u.ProjectID}},
	}}
}
