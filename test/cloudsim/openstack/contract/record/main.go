// Command record runs the scenarios of the OpenStack contract against the real
// services and compares the responses with the golden files, or rewrites those
// with -update:
//
//	go run -race ./test/cloudsim/openstack/contract/record -dir DIR -ctl CTL [-update] [SCENARIO...]
//
// DIR holds clouds.yaml, with a cloud admin, and env.json, an object with the URLs of
// keystone, nova, neutron and octavia in endpoints, and the IDs of an image and a
// flavor in image and flavor. CTL is a program that controls the services:
//
//	CTL pause|resume octavia-worker    stops and continues the process
//	CTL restart neutron                after its configuration has changed
//	CTL sql octavia -e STATEMENT       changes the database
//
// The command creates its own projects, users and networks, all named contract*, and deletes what a
// scenario leaves before the next one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack/contract"
)

func main() {
	dir := flag.String("dir", "", "directory of the services")
	ctl := flag.String("ctl", "", "program that controls the services")
	suffix := flag.String("suffix", "", "part of the names of projects and users, for several runs at a time")
	update := flag.Bool("update", false, "rewrite the golden files")
	partial := flag.String("partial", "", "file for the responses of a scenario that does not reach its end")
	golden := flag.String("golden", "test/cloudsim/openstack/contract/golden", "directory of the golden files")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, options{dir: *dir, ctl: *ctl, suffix: *suffix, golden: *golden, partial: *partial, update: *update, only: flag.Args()}); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

// options are the arguments of the command.
type options struct {
	dir, ctl, suffix, golden, partial string
	update                            bool
	only                              []string
}

// run plays the scenarios and returns an error if one differs.
func run(ctx context.Context, o options) error {
	scenarios, err := contract.Scenarios()
	if err != nil {
		return err
	}
	target, err := newLive(ctx, o.dir, o.ctl, o.suffix)
	if err != nil {
		return fmt.Errorf("create the layout: %w", err)
	}
	failed := 0
	for _, s := range scenarios {
		if len(o.only) > 0 && !slices.Contains(o.only, s.Name) {
			continue
		}
		start := time.Now()
		records, err := contract.Play(ctx, target, s)
		if err == nil {
			err = keep(o, s, records)
		} else if o.partial != "" {
			err = errors.Join(err, os.WriteFile(o.partial, contract.Format(s.About, records), 0o600))
		}
		if err != nil {
			failed++
			fmt.Printf("FAIL %s: %v\n", s.Name, err)

			continue
		}
		fmt.Printf("ok   %s: %d responses in %s\n", s.Name, len(records), time.Since(start).Round(time.Second))
	}
	if _, err := target.Begin(ctx, ""); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	if failed > 0 {
		return fmt.Errorf("%d scenarios differ", failed)
	}

	return nil
}

// keep writes or compares the golden file of a scenario.
func keep(o options, s *contract.Scenario, records []contract.Record) error {
	file := filepath.Join(o.golden, s.Name+".txtar")
	if o.update {
		return os.WriteFile(file, contract.Format(s.About, records), 0o644) //nolint:gosec // a file of the repository
	}
	want, err := os.ReadFile(file) //nolint:gosec // a file of the repository
	if err != nil {
		return err
	}
	if diff := contract.Differences(contract.Golden(want), records); len(diff) > 0 {
		return fmt.Errorf("responses differ:\n%s", strings.Join(diff, "\n"))
	}

	return nil
}
