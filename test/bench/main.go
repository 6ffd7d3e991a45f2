// Command bench measures what the binary costs, in calls to the cloud, time, CPU time and
// memory, and compares that with the budgets. The cloud is simulated, the
// control plane and the binary are real.
//
//	bench -provider vsphere -nodes 300 -binary bin/multicloud-controller-manager
//
// It exits with 1 when a budget of calls is broken. Times and sizes depend on
// the machine and are only shown.
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
	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

// interrupted is the exit code of a process that a Ctrl-C ended.
const interrupted = 130

var errOverBudget = errors.New("there were more calls than the budget allows")

func main() {
	p := plan{}
	providerName := flag.String("provider", "vsphere", "the `name` of the provider to measure")
	flag.StringVar(&p.binary, "binary", "bin/"+ccm.Name, "the `path` of the controller manager")
	flag.IntVar(&p.nodes, "nodes", 300, "number of nodes in the cluster")
	flag.IntVar(&p.notReady, "not-ready", 100, "number of nodes that become not ready")
	flag.IntVar(&p.foreign, "foreign", 0, "number of machines that are not nodes, for clouds that several clusters can share")
	flag.DurationVar(&p.latency, "latency", 30*time.Millisecond, "duration of each call to the cloud")
	flag.IntVar(&p.services, "services", 100, "number of Services that are created at once, for clouds with load balancers")
	flag.DurationVar(&p.provisioning, "provisioning", 5*time.Second, "time that the cloud takes to create each load balancer")
	flag.DurationVar(&p.steady, "steady", 90*time.Second, "duration of the steady period; with 5m, nodes are updated and checked in the default periods, with less in proportionally shorter ones")
	flag.IntVar(&p.churn, "churn", 0, "number of nodes that are replaced in the end, while the growth of the heap is measured")
	flag.StringVar(&p.profiles, "profiles", "", "write profiles into this `directory`: of the CPU time of the start and of the steady period, and of the heap before and after -churn")
	flag.StringVar(&p.flags, "flags", "", "further `flags` of the process that initializes all nodes, such as --kube-api-qps=100")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, scenario.NewPrinter(os.Stdout), *providerName, p))
}

// run measures and reports; its result is the exit code.
func run(ctx context.Context, out *scenario.Printer, providerName string, p plan) int {
	err := report(ctx, out, providerName, p)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return interrupted
	}
	out.Failure(err)

	return 1
}

func report(ctx context.Context, out *scenario.Printer, providerName string, p plan) error {
	var err error
	if p.provider, err = scenario.Find(providerName); err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	if p.binary, err = filepath.Abs(p.binary); err != nil {
		return err
	}
	r, err := measure(ctx, out, p)
	if err != nil {
		return err
	}
	rows := evaluate(r)
	budgets, calls := budgetTable(rows), callTable(r)
	out.Title("Budgets")
	out.Line("%s\n%s", budgets.Text(), calls.Text())
	out.Note("%s", explanation(r))
	out.Title("The same as Markdown")
	out.Line("%s\n%s\n%s", machine(time.Now()), budgets.Markdown(), calls.Markdown())
	if broken(rows) {
		return errOverBudget
	}

	return nil
}

// machine says where and when it was measured.
func machine(now time.Time) string {
	return fmt.Sprintf("%s, %s/%s, %d cores, %s\n", now.Format(time.DateOnly), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

// check rejects what cannot be measured.
func (p plan) check() error {
	switch {
	case p.nodes < 1 || p.notReady < 1:
		return fmt.Errorf("-nodes=%d -not-ready=%d: both must be more than zero", p.nodes, p.notReady)
	case p.foreign < 0:
		return fmt.Errorf("-foreign=%d must not be negative", p.foreign)
	case p.latency < 0 || p.provisioning < 0:
		return fmt.Errorf("-latency=%v -provisioning=%v: both must not be negative", p.latency, p.provisioning)
	case p.churn < 0:
		return fmt.Errorf("-churn=%d must not be negative", p.churn)
	case p.services < 1:
		return fmt.Errorf("-services=%d must be more than zero", p.services)
	case p.steady < time.Second || p.steady > budgetPeriod:
		return fmt.Errorf("-steady=%v must be from 1s to %v", p.steady, budgetPeriod)
	}

	return nil
}
