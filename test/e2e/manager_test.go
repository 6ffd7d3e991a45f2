package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
)

// binaryPath is where make puts the binary of these tests.
const binaryPath = "bin/e2e/" + ccm.Name

// raceOptions has a race show in the log alone, and the process end at once: by
// default it waits for a second, in which other goroutines may race.
const raceOptions = "GORACE=exitcode=0 atexit_sleep_ms=0"

// gcOptions collect garbage less often than by default, which saves a third of the CPU
// time of a process.
const gcOptions = "GOGC=400"

// longLeases keep a leader that the API server does not respond to for some seconds, as on a busy
// machine.
var longLeases = []string{"--leader-elect-lease-duration=1h", "--leader-elect-renew-deadline=50m"}

// alarms must not appear in any log: a right that is missing, a data race, a
// crash.
var alarms = regexp.MustCompile(`(?i:forbidden)|WARNING: DATA RACE|^panic:|^fatal error:`)

// race is what the race detector writes about one.
var race = regexp.MustCompile(`(?s)==================\nWARNING: DATA RACE\n.*?\n==================\n`)

// withoutKnownRaces leaves out what a log contains of one race, which is inside
// the framework: its service controller notes a Service that it has begun with
// while its node worker collects all of them. Both are about a pointer, which is
// the old or the new one.
func withoutKnownRaces(log string) string {
	return race.ReplaceAllStringFunc(log, func(report string) string {
		for _, part := range []string{"service.(*serviceCache).allServices()", "service.(*Controller).processServiceCreateOrUpdate()"} {
			if !strings.Contains(report, "k8s.io/cloud-provider/controllers/"+part) {
				return report
			}
		}

		return ""
	})
}

// manager is the binary at work.
type manager struct {
	*ccm.CCM

	cluster *cluster
	checked bool
}

// launch starts the binary as the ServiceAccount, with the permissions that the chart has
// for it. What the test does not end
// itself is stopped with it and has to exit with 0.
func (c *cluster) launch(t *testing.T, name, cloudConfig string, args ...string) *manager {
	t.Helper()
	binary, err := ccm.Locate(binaryPath)
	if err != nil {
		t.Fatal(err)
	}
	c.grant(t, c.rightsOf(cloudConfig, args))
	process, err := ccm.Start(ccm.Options{
		Binary: binary, Dir: t.TempDir(), Name: name, Kubeconfig: c.kubeconfig, CloudConfig: cloudConfig,
		Env:  append([]string{raceOptions, gcOptions}, c.environment...),
		Args: slices.Concat([]string{"--v=2", "--node-monitor-period=500ms"}, longLeases, c.certificateArgs(), args),
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{CCM: process, cluster: c}
	t.Cleanup(func() { m.clear(t) })

	return m
}

// certificateArgs save the RSA keys that a process makes at its start, which take
// a third of its CPU time there: one for the server, whose clients do not verify
// it, and one for webhooks, of which there are none.
func (c *cluster) certificateArgs() []string {
	path := filepath.Join(c.Dir(), "kube-apiserver")

	return []string{"--tls-cert-file=" + path + ".crt", "--tls-private-key-file=" + path + ".key", "--webhook-secure-port=0"}
}

// run launches the binary and waits until it serves.
func (c *cluster) run(t *testing.T, cloudConfig string, args ...string) *manager {
	t.Helper()
	m := c.launch(t, ccm.Name, cloudConfig, args...)
	if err := m.WaitHealthy(t.Context()); err != nil {
		t.Fatal(err)
	}

	return m
}

// clear ends the process if the test has not done so, and looks at its log.
func (m *manager) clear(t *testing.T) {
	t.Helper()
	if !m.checked {
		m.terminate(t)
	}
	if err := m.release(); err != nil {
		t.Error(err)
	}
	log, err := m.Log()
	if err != nil {
		t.Error(err)

		return
	}
	var excerpt strings.Builder
	for line := range strings.Lines(withoutKnownRaces(log)) {
		if alarms.MatchString(line) {
			t.Errorf("the log has: %s", line)
		}
		if !strings.Contains(line, " flags.go:") {
			excerpt.WriteString(line)
		}
	}
	if t.Failed() {
		t.Logf("the log of %s:\n%s", filepath.Base(m.LogPath()), &excerpt)
	}
}

// release releases what the process held; it ends it, too, if a test failed
// before it could.
func (m *manager) release() error {
	ctx, cancel := ending()
	defer cancel()

	return m.Stop(ctx)
}

// terminate ends the process as Kubernetes does, which is to end well.
func (m *manager) terminate(t *testing.T) {
	t.Helper()
	m.checked = true
	select {
	case <-m.Ended():
		t.Errorf("it ended without being stopped: %v", m.Failure())

		return
	default:
	}
	ctx, cancel := ending()
	defer cancel()
	if err := m.Process.Stop(ctx); err != nil {
		t.Error(err)

		return
	}
	if code := m.ExitCode(); code != 0 {
		t.Errorf("exit code after SIGTERM is %d, want 0", code)
	}
}

// awaitExit waits until the process has ended by itself.
func (m *manager) awaitExit(t *testing.T, want int) {
	t.Helper()
	code, err := m.WaitExit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.checked = true
	if code != want {
		t.Fatalf("exit code is %d, want %d, the log ends with:\n%s", code, want, m.Tail())
	}
}

// awaitLog waits for a text in the log.
func (m *manager) awaitLog(t *testing.T, text string) {
	t.Helper()
	if err := m.WaitLog(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// logged returns the lines of the log with a text.
func (m *manager) logged(t *testing.T, text string) []string {
	t.Helper()
	log, err := m.Log()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}

	return lines
}

// await is like the function of that name, and gives up when the process has
// ended.
func (m *manager) await(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	await(t, what, func(ctx context.Context) error {
		if failure := m.Failure(); failure != nil {
			return permanentError{failure}
		}

		return check(ctx)
	})
}

// page returns a page of the process's server as the admin sees it. The server
// is up a moment before it has its configuration of authentication.
func (m *manager) page(t *testing.T, path string) string {
	t.Helper()
	var page string
	m.await(t, "page "+path, func(ctx context.Context) error {
		var err error
		page, err = m.Get(ctx, m.cluster.RESTConfig(), path)

		return err
	})

	return page
}

// metric adds up the samples of a metric that have all the labels, each written
// as name="value".
func (m *manager) metric(ctx context.Context, name string, labels ...string) (float64, error) {
	page, err := m.Get(ctx, m.cluster.RESTConfig(), "/metrics")
	if err != nil {
		return 0, err
	}

	return sum(page, name, labels...)
}

// sum adds up the samples of a metric on a page that have all the labels.
func sum(page, name string, labels ...string) (float64, error) {
	var total float64
	lines := bufio.NewScanner(strings.NewReader(page))
	for lines.Scan() {
		sample, value, ok := strings.Cut(lines.Text(), " ")
		series, _, _ := strings.Cut(sample, "{")
		if !ok || series != name || !hasAll(sample, labels) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("read metric %s: %w", name, err)
		}
		total += number
	}

	return total, lines.Err()
}

func hasAll(sample string, labels []string) bool {
	for _, label := range labels {
		if !strings.Contains(sample, label) {
			return false
		}
	}

	return true
}

// awaitMetric waits until a metric has a value.
func (m *manager) awaitMetric(t *testing.T, want float64, name string, labels ...string) {
	t.Helper()
	m.await(t, fmt.Sprintf("metric %s to be %v", name, want), func(ctx context.Context) error {
		value, err := m.metric(ctx, name, labels...)
		if err == nil && value != want {
			err = fmt.Errorf("it is %v", value)
		}

		return err
	})
}

// awaitPasses waits until the lifecycle controller has checked all nodes n
// times more, from the beginning.
func (m *manager) awaitPasses(t *testing.T, n int) {
	t.Helper()
	const passes = "cloud_node_lifecycle_controller_monitor_nodes_duration_seconds_count"
	before := -1.0
	m.await(t, fmt.Sprintf("%d passes over the nodes", n), func(ctx context.Context) error {
		now, err := m.metric(ctx, passes)
		if err == nil && before < 0 {
			before = now
		}
		if err == nil && now < before+float64(n)+1 { // the first one may have begun before
			err = fmt.Errorf("%v passes have ended since", now-before)
		}

		return err
	})
}

// write puts a cloud-config in place, whole.
func write(t *testing.T, path, text string) {
	t.Helper()
	fresh := path + ".new"
	if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, path); err != nil {
		t.Fatal(err)
	}
}

// writeConfig writes a cloud-config for a test and returns its path.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cloud.conf")
	write(t, path, text)

	return path
}

// awaitUndecided waits until the lifecycle controller has checked from now on
// whether each node exists, and got an error. Errors that only postpone the
// check, for a node that is young or was checked a moment ago, do not count.
func (m *manager) awaitUndecided(t *testing.T, nodes ...string) {
	t.Helper()
	undecided := func(node string) []string {
		return m.logged(t, fmt.Sprintf("error checking if node %s exists", node))
	}
	before := map[string]int{}
	for _, node := range nodes {
		before[node] = len(undecided(node))
	}
	for _, node := range nodes {
		m.await(t, "a decision about node "+node, func(context.Context) error {
			lines := undecided(node)[before[node]:]
			if slices.ContainsFunc(lines, func(line string) bool {
				return !strings.Contains(line, "younger than") && !strings.Contains(line, "moments ago")
			}) {
				return nil
			}

			return fmt.Errorf("the log has %q", lines)
		})
	}
}
