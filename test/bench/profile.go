package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
)

// profile writes a profile of a process to a file, if there is a directory for profiles.
func (b *bench) profile(ctx context.Context, process *ccm.CCM, name, query string) error {
	if b.profiles == "" {
		return nil
	}
	page, err := process.Get(ctx, b.ControlPlane.RESTConfig(), "/debug/pprof/"+query)
	if err != nil {
		return err
	}

	return os.WriteFile(filepath.Join(b.profiles, name+".pb.gz"), []byte(page), 0o600)
}

// initializePeriod is how much of the start is in a profile.
const initializePeriod = 20 * time.Second

// profileCPU writes a profile of the CPU time that a process uses from now on, for a while.
func (b *bench) profileCPU(ctx context.Context, process *ccm.CCM, name string, d time.Duration) error {
	return b.profile(ctx, process, name, fmt.Sprintf("profile?seconds=%.0f", d.Seconds()))
}
