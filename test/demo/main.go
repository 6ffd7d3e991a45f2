// Command demo shows the main job from the outside, on one machine and without
// any account: nodes of a simulated cloud join a real control plane and are
// initialized by the real binary; Services get load balancers, where the cloud
// has any; then the cloud goes away for a while, in which a machine is switched off.
//
//	demo -provider vsphere -binary bin/multicloud-controller-manager
//
// KEEP=1 in the environment leaves everything running until Ctrl-C. Whatever
// happens, no process is left behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

// interrupted is the exit code of a process that a Ctrl-C ended.
const interrupted = 130

func main() {
	providerName := flag.String("provider", "vsphere", "the `name` of the provider to show")
	binary := flag.String("binary", "bin/"+ccm.Name, "the `path` of the controller manager")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, scenario.NewPrinter(os.Stdout), options{
		provider: *providerName,
		binary:   *binary,
		keep:     keep(os.Getenv("KEEP")),
	})
	os.Exit(code)
}

// keep reads the environment variable KEEP.
func keep(value string) bool { return value != "" && value != "0" }

type options struct {
	provider, binary string
	keep             bool
}

// run runs the demo and cleans up; its result is the exit code.
func run(ctx context.Context, out *scenario.Printer, opts options) int {
	began := time.Now()
	err := runSteps(ctx, out, opts)
	switch {
	case err == nil:
		out.Line("Done after %.0f s.", time.Since(began).Seconds())
		if !opts.keep {
			out.Line("Set KEEP=1 in the environment to leave everything running.")
		}

		return 0
	case ctx.Err() != nil:
		return interrupted
	}
	out.Failure(err)

	return 1
}

// runSteps creates the environment, runs all steps, and closes the environment
// whatever happens.
func runSteps(ctx context.Context, out *scenario.Printer, opts options) (err error) {
	provider, err := scenario.Find(opts.provider)
	if err != nil {
		return err
	}
	if opts.binary, err = locate(opts.binary); err != nil {
		return err
	}
	environment, err := scenario.NewEnvironment()
	if err != nil {
		return err
	}
	demo := &demo{Environment: environment, out: out, provider: provider, binary: opts.binary}
	defer func() {
		failed := err != nil && ctx.Err() == nil && environment.ControlPlane != nil
		closed := out.Step("Stopping everything", func() error { return environment.Close(ctx, failed) })
		if failed {
			out.Note("all logs are kept in %s", environment.Dir())
		}
		if ctx.Err() != nil && closed != nil {
			out.Failure(closed) // not printed otherwise after a Ctrl-C
		}
		err = errors.Join(err, closed)
	}()
	if err := demo.all(ctx); err != nil {
		return err
	}
	if opts.keep {
		return demo.keep(ctx)
	}

	return nil
}

// locate makes the path of the binary absolute: it runs in another directory.
func locate(binary string) (string, error) {
	info, err := os.Stat(binary)
	if err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s does not exist, run: make build", binary)
	}

	return filepath.Abs(binary)
}
