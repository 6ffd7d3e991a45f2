package vsphere

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

const (
	// readTimeout is how long a proof waits for the inventories. Those of large vCenters
	// take longer to read: then the Nodes are not looked up.
	readTimeout = 20 * time.Second
	// endTimeout bounds the end of the sessions of a proof.
	endTimeout = 5 * time.Second
)

// prove is the proof of a cloud-config in the environment of this process.
func prove(ctx context.Context, candidate provider.Candidate) (provider.Proof, error) {
	return proveIn(ctx, candidate, processEnvironment(), tuning{session: session.Options{LoginGuard: login.OfProcess()}})
}

// proveIn logs in to all vCenters that are not retired, and finds the datacenters and the VMs of the Nodes. What it
// counts is not that of the provider that runs.
func proveIn(ctx context.Context, candidate provider.Candidate, env environment, t tuning) (provider.Proof, error) {
	cfg, _, problems := decode(candidate.File, env)
	if err := problems.Err(); err != nil {
		return provider.Proof{}, err
	}
	t.session.Metrics, t.recorder = session.NewMetrics(metrics.Discard()), metrics.Discard()
	c := &cloud{config: cfg, tuning: t, source: newSource(cfg, nil), background: provider.NewBackground()}
	if err := c.connect(candidate.Clients); err != nil {
		return provider.Proof{}, err
	}
	defer c.end(ctx)
	vcenters, err := c.source.current()
	if err != nil {
		return provider.Proof{}, err
	}
	vcenters = lists.Filter(vcenters, func(vc *vcenter) bool { return !vc.retired })
	accounts, err := logIn(ctx, vcenters)
	proof := provider.Proof{Identity: accounts, Scope: c.config.scope()}
	if err != nil {
		return proof, err
	}
	complete, err := readInventories(ctx, vcenters)
	switch {
	case err != nil:
		return proof, err
	case !complete:
		proof.Nodes.Unknown = lists.Map(candidate.Nodes, func(node *v1.Node) string { return node.Name })

		return proof, nil
	}
	proof.Nodes, err = instance.Locate(ctx, ProviderName, c.source, candidate.Nodes)

	return proof, err
}

// end ends the sessions of a proof. Those that remain end by themselves.
func (c *cloud) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		klog.FromContext(ctx).V(2).Info("Could not end the sessions of a proof", "reason", err.Error())
	}
}

// logIn logs in to all vCenters at once, and returns with which accounts.
func logIn(ctx context.Context, vcenters []*vcenter) (string, error) {
	accounts, errs := make([]string, len(vcenters)), make([]error, len(vcenters))
	var all sync.WaitGroup
	for i, vc := range vcenters {
		all.Go(func() {
			errs[i] = vc.session.SOAP(ctx, func(context.Context, *vim25.Client) error { return nil })
			accounts[i] = vc.session.Account()
		})
	}
	all.Wait()

	slices.Sort(accounts)
	accounts = slices.DeleteFunc(slices.Compact(accounts), func(account string) bool { return account == "" })

	return strings.Join(accounts, ", "), errors.Join(errs...)
}

// readInventories waits for the inventories, and reports whether all of them were read. A
// datacenter that is missing is an error.
func readInventories(ctx context.Context, vcenters []*vcenter) (complete bool, err error) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	complete = true
	var errs []error
	for _, vc := range vcenters {
		_ = vc.inventory.WaitSynced(reading) // the status has the reason
		switch status := vc.inventory.Status(); {
		case status.Incomplete != nil:
			errs = append(errs, apierr.Mark(apierr.ErrNotFound, fmt.Errorf("vCenter %s: %w", vc.name, status.Incomplete)))
		case !status.Synced && status.Err != nil:
			errs = append(errs, fmt.Errorf("read the inventory of vCenter %s: %w", vc.name, status.Err))
		case !status.Synced:
			complete = false
		}
	}

	return complete, errors.Join(errs...)
}

// scope describes the vCenters and their datacenters.
func (c *Config) scope() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.VirtualCenter)) {
		datacenters := "all datacenters"
		if list := c.VirtualCenter[name].Datacenters; len(list) > 0 {
			datacenters = "datacenters " + strings.Join(list, ", ")
		}
		if c.VirtualCenter[name].Retired {
			datacenters = "which is retired and not tried"
		}
		parts = append(parts, fmt.Sprintf("vCenter %s, %s", name, datacenters))
	}

	return strings.Join(parts, "; ")
}
