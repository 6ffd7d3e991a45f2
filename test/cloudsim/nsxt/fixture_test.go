package nsxt_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

const (
	t1     = "/infra/tier-1s/t1"
	routes = t1 + "/static-routes"
)

// client sends requests as a user.
type client struct {
	t         *testing.T
	cloud     *nsxt.Cloud
	transport *http.Transport
	sign      func(*http.Request)
}

// response is what a client gets.
type response struct {
	status, code int
	header       http.Header
	body         nsxt.Object
}

// simulate runs a test against a manager in simulated time.
func simulate(t *testing.T, spec nsxt.Spec, test func(*client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		spec.Server.InMemory = true
		if spec.Tier1s == nil {
			spec.Tier1s = []nsxt.Tier1{{ID: "t1", EdgeCluster: true}}
		}
		cloud, err := nsxt.Start(spec)
		if err != nil {
			t.Fatal(err)
		}
		c := &client{t: t, cloud: cloud, sign: basic("admin", "secret"), transport: &http.Transport{
			DialContext: cloud.Dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		}}
		defer func() {
			c.transport.CloseIdleConnections()
			if err := cloud.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(c)
	})
}

func basic(user, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

// as returns a client with other credentials.
func (c *client) as(sign func(*http.Request)) *client {
	other := *c
	other.sign = sign

	return &other
}

// send sends a request to an address without the scheme.
func (c *client) send(method, address string, body []byte) response {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, "https://"+address, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	c.sign(request)
	got, err := c.transport.RoundTrip(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	r := response{status: got.StatusCode, header: got.Header}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &r.body); err != nil {
			c.t.Fatalf("%s %s: %v in %s", method, address, err, data)
		}
	}
	if code, ok := r.body["error_code"].(float64); ok {
		r.code = int(code)
	}

	return r
}

// call sends a request to the policy API.
func (c *client) call(method, path string, body any) response {
	c.t.Helper()
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			c.t.Fatal(err)
		}
	}

	return c.send(method, c.cloud.Host()+"/policy/api/v1"+path, data)
}

// want sends a request and checks the status and the code of the error, 0 for none.
func (c *client) want(status, code int, method, path string, body any) response {
	c.t.Helper()
	got := c.call(method, path, body)
	if got.status != status || got.code != code {
		c.t.Errorf("%s %s: got %d/%d, want %d/%d: %v", method, path, got.status, got.code, status, code, got.body)
	}

	return got
}

func (c *client) get(path string) response {
	c.t.Helper()

	return c.want(200, 0, "GET", path, nil)
}

func (c *client) put(path string, body nsxt.Object) response {
	c.t.Helper()

	return c.want(200, 0, "PUT", path, body)
}

func (c *client) search(query string) []string {
	c.t.Helper()

	return ids(c.get("/search/query?sort_by=id&query=" + url.QueryEscape(query)))
}

// ids returns the IDs of the rows of a page.
func ids(page response) []string {
	found := []string{}
	rows, _ := page.body["results"].([]any)
	for _, row := range rows {
		id, _ := row.(map[string]any)["id"].(string)
		found = append(found, id)
	}

	return found
}

// state returns the states of the entities of an intent, and the code of the alarm, if any.
func (c *client) state(path string) (states string, code int) {
	c.t.Helper()
	states, _, code = c.realized(path)

	return states, code
}

// realized returns the states, addresses and code of the alarm of the entities of an intent.
func (c *client) realized(path string) (states, addresses string, code int) {
	c.t.Helper()
	var page struct {
		Results []struct {
			State  string
			Alarms []struct {
				Details struct {
					Code int `json:"error_code"`
				} `json:"error_details"`
			}
			Attributes []struct{ Values []string } `json:"extended_attributes"`
		}
	}
	data, err := json.Marshal(c.get("/infra/realized-state/realized-entities?intent_path=" + path).body)
	if err == nil {
		err = json.Unmarshal(data, &page)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	for _, entity := range page.Results {
		states += " " + entity.State
		for _, alarm := range entity.Alarms {
			code = alarm.Details.Code
		}
		for _, attribute := range entity.Attributes {
			addresses += strings.Join(attribute.Values, " ")
		}
	}

	return strings.TrimSpace(states), addresses, code
}

func route(network string) nsxt.Object {
	hop := "10.0.0.1"
	if strings.Contains(network, ":") {
		hop = "fd00::1"
	}

	return nsxt.Object{"network": network, "next_hops": []nsxt.Object{{"ip_address": hop}}}
}

// with returns a copy of an object with another field.
func with(o nsxt.Object, field string, value any) nsxt.Object {
	changed := nsxt.Object{field: value}
	for key, old := range o {
		if key != field {
			changed[key] = old
		}
	}

	return changed
}

func check(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// seconds waits.
func seconds(n float64) { time.Sleep(time.Duration(n * float64(time.Second))) }
