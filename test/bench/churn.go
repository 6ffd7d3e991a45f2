package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
)

const (
	// perHour is how many machines are replaced at once, as in an hour of a cluster that is scaled.
	perHour = 100
	// warmUp is how many are replaced before the heap is measured: client-go keeps 4,096 keys of Events.
	warmUp = 5000
)

// measureChurn replaces nodes of a cluster with Services, and measures by how much the heap grows. More
// are replaced before, so that caches with a maximum size are full.
func (b *bench) measureChurn(ctx context.Context) error {
	if b.churn == 0 {
		return nil
	}
	process, err := b.Run("churn", b.binary, "--v=2", "--leader-elect=false")
	if err != nil {
		return err
	}
	what := fmt.Sprintf("Replacing %d nodes, %d at once", b.churn, min(perHour, b.nodes))
	err = b.out.Step(what, func() error {
		if err := b.replace(ctx, process, warmUp); err != nil {
			return err
		}
		before, err := b.heap(ctx, process, "heap-before")
		if err != nil {
			return err
		}
		if err := b.replace(ctx, process, b.churn); err != nil {
			return err
		}
		after, err := b.heap(ctx, process, "heap-after")
		b.heapBefore, b.heapAfter = before, after

		return err
	})

	return errors.Join(err, b.end(ctx, process))
}

// replace deletes n nodes with their machines, as a cluster autoscaler does, and has new ones initialized.
func (b *bench) replace(ctx context.Context, process *ccm.CCM, n int) error {
	for n > 0 {
		deleted, added, err := b.Cloud.Replace(min(n, perHour, b.nodes))
		if err != nil {
			return err
		}
		n -= len(added)
		if err := errors.Join(b.DeleteNodes(ctx, deleted), b.Register(ctx, added), b.AwaitInitialized(ctx, process, added)); err != nil {
			return err
		}
	}

	return b.AwaitIdle(ctx, process)
}

// heap returns the size of the heap after a garbage collection.
func (b *bench) heap(ctx context.Context, process *ccm.CCM, name string) (int64, error) {
	const line = "# HeapAlloc = "
	page, err := process.Get(ctx, b.ControlPlane.RESTConfig(), "/debug/pprof/heap?gc=1&debug=1")
	if err = errors.Join(err, b.profile(ctx, process, name, "heap")); err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(page, line)
	number, _, _ := strings.Cut(rest, "\n")

	return strconv.ParseInt(number, 10, 64)
}
