// Command compare measures an upstream cloud controller manager and ours, one after the other, on
// the same simulated cloud with a real control plane: calls to the cloud, time and memory.
//
//	compare -provider aws -nodes 300 -upstream <path> -binary bin/multicloud-controller-manager
//
// It prints a table, and writes it as Markdown and a chart into the folder -output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

// interrupted is the exit code of a process that a Ctrl-C ended.
const interrupted = 130

// plan defines what to measure.
type plan struct {
	provider scenario.Provider
	// theirs and ours are the paths of the binaries.
	theirs, ours string
	// flags are further ones of the upstream controller.
	flags string
	// rounds is how often each of them is measured, serviceRounds in how many of these rounds
	// many Services are created at once.
	rounds, serviceRounds int
	// nodes join the cluster, notReady of them become not ready later.
	nodes, notReady int
	// services are created at once, each of which the cloud takes provisioning to create.
	services     int
	provisioning time.Duration
	// latency of each call to the cloud.
	latency time.Duration
	// period is --node-status-update-frequency, which is 5 minutes by default.
	period time.Duration
}

func main() {
	p := plan{}
	providerName := flag.String("provider", "aws", "the `name` of the provider to measure")
	output := flag.String("output", "bin/comparison", "the `folder` for the table and the chart")
	flag.StringVar(&p.theirs, "upstream", "", "the `path` of the upstream controller")
	flag.StringVar(&p.flags, "upstream-flags", "", "further `flags` of the upstream controller, such as --concurrent-service-syncs=10")
	flag.StringVar(&p.ours, "binary", "bin/"+ccm.Name, "the `path` of our controller")
	flag.IntVar(&p.rounds, "rounds", 3, "how often each controller is measured")
	flag.IntVar(&p.serviceRounds, "service-rounds", 3, "in how many rounds Services are created at once")
	flag.IntVar(&p.nodes, "nodes", 300, "number of nodes in the cluster")
	flag.IntVar(&p.notReady, "not-ready", 100, "number of nodes that become not ready")
	flag.IntVar(&p.services, "services", 100, "number of Services that are created at once")
	flag.DurationVar(&p.provisioning, "provisioning", 5*time.Second, "time that the cloud takes to create each load balancer")
	flag.DurationVar(&p.latency, "latency", 30*time.Millisecond, "duration of each call to the cloud")
	flag.DurationVar(&p.period, "period", time.Minute, "time from the end of an update of all nodes to the next one, 5m by default in a cluster")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	out := scenario.NewPrinter(os.Stdout)
	err := run(ctx, out, *providerName, *output, p)
	switch {
	case err == nil:
		return
	case ctx.Err() != nil:
		os.Exit(interrupted)
	}
	out.Failure(err)
	os.Exit(1)
}

// run measures and reports.
func run(ctx context.Context, out *scenario.Printer, providerName, output string, p plan) error {
	var err error
	if p.provider, err = scenario.Find(providerName); err != nil {
		return err
	}
	if p.nodes <= targets || p.rounds < 1 || p.services < 1 {
		return fmt.Errorf("-nodes=%d must be more than %d, -rounds=%d and -services=%d more than zero", p.nodes, targets, p.rounds, p.services)
	}
	both, err := controllers(p)
	if err != nil {
		return err
	}

	return compare(ctx, out, p, both, func(r *results) error { return p.report(out, r, [2]string{both[0].name, both[1].name}, output) })
}

// report prints a table, and writes it and a chart into a folder.
func (p plan) report(out *scenario.Printer, r *results, names [2]string, folder string) error {
	table := r.table(names)
	out.Title("%s", p.title())
	out.Line("%s", table.Text())
	chart, err := r.chart(p.title(), names)
	if err != nil {
		return err
	}
	markdown := machine(time.Now()) + "\n\n" + table.Markdown()
	files := filepath.Join(folder, p.provider.Name)
	err = errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(files+".md", []byte(markdown), 0o644), os.WriteFile(files+".svg", chart, 0o644)) //nolint:gosec // for everybody
	if err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	out.Line("%s.md and .svg have the same as Markdown and as a chart.", files)

	return nil
}

// title describes what was measured in a line.
func (p plan) title() string {
	return fmt.Sprintf("%s, %d Nodes, %v for each call", p.provider.Name, p.nodes, p.latency)
}

// machine says where and when it was measured.
func machine(now time.Time) string {
	return fmt.Sprintf("%s, %s/%s, %d cores, %s, Kubernetes %s",
		now.Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), controlplane.KubernetesVersion)
}
