package openstack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// recording is what an operation without faults has sent and left, without what differs
// between two runs. Each scenario of TestCrash has one in testdata/recordings, so that a
// change of the code shows what else it changes. Without the race detector
// go test -run '^TestCrash$' -update writes them.
type recording struct {
	// reads are the different requests that only read, as a set. Writes are in order.
	reads, writes []string
	// state is what has come and gone.
	state []string
	// services are the annotations and statuses of the Services, events are those about them.
	services, events []string
	// outages are the times in which something was not served that had to be.
	outages []string
}

// String returns the text of the golden file.
func (r recording) String() string {
	var b strings.Builder
	for _, part := range []struct {
		name  string
		lines []string
	}{
		{"reads", r.reads}, {"writes", r.writes}, {"outages", r.outages}, {"events", r.events}, {"services", r.services}, {"state", r.state},
	} {
		fmt.Fprintf(&b, "== %s\n", part.name)
		for _, line := range part.lines {
			b.WriteString(line + "\n")
		}
	}

	return b.String()
}

// recorder stores the requests of a process.
type recorder struct {
	rule *simserver.Rule

	mu     sync.Mutex
	reads  map[string]bool
	writes []string
}

// startRecorder stores all requests from now on, until its rule is removed.
func (s *lbSite) startRecorder() *recorder {
	r := &recorder{reads: map[string]bool{}}
	r.rule = s.Interceptor().Inject(simserver.Any, simserver.Always(), func(w http.ResponseWriter, req *http.Request, apply http.Handler) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		r.add(req.Method, req.URL, string(body))
		apply.ServeHTTP(w, req)
	})

	return r
}

// add stores a request. Logins are those of any operation.
func (r *recorder) add(method string, at *url.URL, body string) {
	if strings.HasSuffix(at.Path, "/auth/tokens") {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if method == http.MethodGet {
		r.reads[strings.TrimRight(anonymous(at.Path)+"?"+anonymousQuery(at.Query()), "?")] = true

		return
	}
	r.writes = append(r.writes, anonymous(strings.TrimSpace(method+" "+at.RequestURI()+" "+body)))
}

// ids matches what a cloud assigns: IDs, one after the other in a query, and addresses.
var (
	idPattern     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	publicPattern = regexp.MustCompile(`198\.18\.[0-9]+\.[0-9]+`)
)

// anonymousQuery returns which parameters a query has, without what to return and the page.
func anonymousQuery(query url.Values) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "fields" && name != "limit" && name != "marker" && name != "project_id" {
			all = append(all, name+"="+strings.Join(lists.Distinct(anonymousLines(query[name])), ","))
		}
	}

	return strings.Join(all, "&")
}

// anonymous returns a text without what a cloud assigns.
func anonymous(text string) string {
	text = publicPattern.ReplaceAllString(idPattern.ReplaceAllString(text, "*"), "*")

	return assignedIP.ReplaceAllString(text, "*")
}

func anonymousLines(lines []string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = anonymous(line)
	}

	return all
}

// operateRecorded runs the operation of the baseline, and records it.
func (c *crash) operateRecorded(ctx context.Context, t testing.TB, p *lbProcess) error {
	t.Helper()
	events := record.NewFakeRecorder(100)
	p.balancers.(*loadBalancer).services.SetRecorder(events)
	requests := c.startRecorder()
	err := c.scenario.operate(ctx, p)
	requests.rule.Remove()
	c.baseline = c.Interceptor().History()
	time.Sleep(lastChange)
	c.recording = c.record(ctx, t, requests, events)
	if status := p.status.Load(); status != nil {
		c.recording.services = append(c.recording.services, "returned status: "+anonymous(statusText(status)))
	}

	return err
}

// record returns the recording of an operation, whose requests and Events are given.
func (c *crash) record(ctx context.Context, t testing.TB, requests *recorder, events *record.FakeRecorder) recording {
	t.Helper()
	requests.mu.Lock() // a list goes on
	defer requests.mu.Unlock()
	got := recording{
		reads: slices.Sorted(maps.Keys(requests.reads)), writes: slices.Clone(requests.writes),
		outages: anonymousLines(c.OutageTimes()), events: anonymousLines(kubetest.Events(events)),
	}
	for _, name := range []string{"shop", "web"} {
		service, err := c.api.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range slices.Sorted(maps.Keys(service.Annotations)) {
			got.services = append(got.services, name+" "+key+"="+anonymous(service.Annotations[key]))
		}
		got.services = append(got.services, name+" status: "+anonymous(statusText(&service.Status.LoadBalancer)))
	}
	now := c.Resources()
	got.state = slices.Concat(anonymousLines(prefixed("- ", lists.Without(c.existing, now))), anonymousLines(prefixed("+ ", lists.Without(now, c.existing))))

	return got
}

func prefixed(prefix string, lines []string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = prefix + line
	}

	return all
}

// recordingFile returns the golden file of a scenario: one for each kind of load balancers, and one
// for the rest.
func recordingFile(name string) string {
	kind, _, _ := strings.Cut(name, " ")
	if _, ok := kinds()[kind]; ok {
		return kind
	}

	return "operations"
}
