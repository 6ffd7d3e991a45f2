package client

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// virtualCloud is the HTTP transport of the SDK's clients inside a
// synctest bubble, where a connection would stop the clock. It knows nothing but
// token buckets.
type virtualCloud struct {
	// latency bounds how long a request is under way before it counts.
	latency time.Duration
	// speed is how many times faster its buckets fill.
	speed float64
	// share is the part of the documented buckets that the account has.
	share float64
	// throttles reports whether to throttle a request despite its tokens; nil is
	// never.
	throttles func(service Service, action string) bool

	mu                  sync.Mutex
	random              *rand.Rand
	buckets             map[string]*rate.Limiter
	accepted, throttled map[Service]int
}

func newVirtualCloud() *virtualCloud {
	return &virtualCloud{
		speed: 1, share: 1, random: rand.New(rand.NewPCG(1, 2)), buckets: map[string]*rate.Limiter{},
		accepted: map[Service]int{}, throttled: map[Service]int{},
	}
}

// clients returns clients that call the cloud, or the transport that is given in
// its place, with the tuning of production.
func (v *virtualCloud) clients(t *testing.T, tuning Tuning, transport ...http.RoundTripper) *Clients {
	t.Helper()
	base, err := Load(t.Context(), Options{Tuning: tuning})
	if err != nil {
		t.Fatal(err)
	}
	base.http = &http.Client{Transport: append(transport, v)[0]}
	clients, err := base.In(t.Context(), "us-west-2")
	if err != nil {
		t.Fatal(err)
	}

	return clients
}

// RoundTrip implements http.RoundTripper.
func (v *virtualCloud) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	service := map[string]Service{
		"2016-11-15": ServiceEC2, "2012-06-01": ServiceELB, "2015-12-01": ServiceELBV2, "2011-06-15": ServiceSTS,
	}[form.Get("Version")]
	if err := v.delay(r.Context()); err != nil {
		return nil, err
	}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: http.NoBody}
	if v.take(service, form.Get("Action")) {
		return response, nil
	}
	response.StatusCode = http.StatusBadRequest
	text := "<ErrorResponse><Error><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>"
	if service == ServiceEC2 {
		response.StatusCode = http.StatusServiceUnavailable
		text = "<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>no</Message></Error></Errors></Response>"
	}
	response.Body = io.NopCloser(strings.NewReader(text))

	return response, nil
}

// delay takes the time of a request on its way.
func (v *virtualCloud) delay(ctx context.Context) error {
	if v.latency == 0 {
		return nil
	}
	v.mu.Lock()
	d := time.Duration(v.random.Int64N(int64(v.latency)))
	v.mu.Unlock()
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take takes the tokens for a request and reports whether there were any.
func (v *virtualCloud) take(service Service, action string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	needed, enough := v.needed(service, action), v.throttles == nil || !v.throttles(service, action)
	for _, b := range needed {
		enough = enough && b.Tokens() >= 1
	}
	if !enough {
		v.throttled[service]++

		return false
	}
	for _, b := range needed {
		b.Allow()
	}
	v.accepted[service]++

	return true
}

// needed are the buckets of a request, with the sizes of the documentation of
// AWS.
func (v *virtualCloud) needed(service Service, action string) []*rate.Limiter {
	switch {
	case action == "DescribeInstanceTopology":
		return []*rate.Limiter{v.bucket(service, action, 1, 1)}
	case service == ServiceEC2:
		return []*rate.Limiter{v.bucket(service, action, 5, 50)}
	case strings.HasPrefix(action, "Describe"):
		return []*rate.Limiter{v.bucket(service, "account", 10, 40), v.bucket(service, "reads", 10, 40)}
	case action == "CreateLoadBalancer":
		return []*rate.Limiter{v.bucket(service, "account", 10, 40), v.bucket(service, "creations", 0.2, 10)}
	default:
		return []*rate.Limiter{v.bucket(service, "account", 10, 40), v.bucket(service, "writes", 3, 20)}
	}
}

func (v *virtualCloud) bucket(service Service, class string, limit rate.Limit, burst int) *rate.Limiter {
	key := string(service) + " " + class
	if v.buckets[key] == nil {
		v.buckets[key] = rate.NewLimiter(limit*rate.Limit(v.speed*v.share), max(1, int(float64(burst)*v.share)))
	}

	return v.buckets[key]
}

// counts returns how many requests of a service were accepted and throttled.
func (v *virtualCloud) counts(service Service) (accepted, throttled int) {
	v.mu.Lock()
	defer v.mu.Unlock()

	return v.accepted[service], v.throttled[service]
}

// virtualKeys has the SDK find a key pair.
func virtualKeys(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAVIRTUAL")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
}

// load takes tokens for reads of load balancers, as another process of the same
// account does: at random times, so many a second, until the end.
func (v *virtualCloud) load(end time.Time, perSecond float64) {
	random := rand.New(rand.NewPCG(3, 4))
	for time.Now().Before(end) {
		time.Sleep(time.Duration(random.ExpFloat64() / perSecond * float64(time.Second)))
		v.mu.Lock()
		for _, b := range v.needed(ServiceELBV2, "DescribeTargetGroups") {
			b.Allow()
		}
		v.mu.Unlock()
	}
}
