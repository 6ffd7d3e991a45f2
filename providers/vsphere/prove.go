package vsphere

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

// proofTimeout is how long a proof waits for logins and inventories. Those of large vCenters
// take longer to read: then the Nodes are not looked up.
const proofTimeout = 20 * time.Second

// prove is the proof of a cloud-config in the environment of this process.
func prove(ctx context.Context, candidate provider.Candidate) (provider.Proof, error) {
	return proveIn(ctx, candidate, processEnvironment(), tuning{session: session.Options{LoginGuard: login.OfProcess()}, nsxtLogins: nsxtLogins()})
}

// proveIn logs in to all vCenters that are not retired, and finds the datacenters and the VMs of the Nodes. Those that do
// not respond are left out, unless all of them are. What it counts is not that of the provider that runs.
func proveIn(ctx context.Context, candidate provider.Candidate, env environment, t tuning) (provider.Proof, error) {
	cfg, _, problems := decode(candidate.File, env)
	if err := problems.Err(); err != nil {
		return provider.Proof{}, err
	}
	used := *cfg
	used.VirtualCenter = maps.Clone(cfg.VirtualCenter)
	maps.DeleteFunc(used.VirtualCenter, func(_ string, vc *VirtualCenter) bool { return vc.Retired })
	t.session.Metrics, t.recorder = session.NewMetrics(metrics.Discard()), metrics.Discard()
	c := &cloud{config: &used, tuning: t, source: newSource(cfg, nil, t), background: provider.NewBackground()}
	if err := c.connect(candidate.Clients); err != nil {
		return provider.Proof{}, err
	}
	defer provider.EndProof(ctx, c.Close)
	vcenters := c.connected()
	manager := make(chan error, 1)
	go func() { manager <- cfg.proveNSXT(ctx, candidate.Clients, t) }()
	failed, complete := proveAll(ctx, vcenters, cmp.Or(t.proof, proofTimeout))
	nsxt := <-manager
	proof := provider.Proof{Identity: accounts(vcenters), Scope: cfg.scope(failed, nsxt)}
	if provider.Unanswered(nsxt) {
		nsxt = nil // Nodes do not need the manager
	}
	switch err := errors.Join(proofError(failed, len(vcenters)), nsxt); {
	case err != nil:
		proof.LoginRefused = nsxt == nil && onlyLogins(failed)

		return proof, err
	case !complete:
		proof.Nodes.Unknown = lists.Map(candidate.Nodes, func(node *v1.Node) string { return node.Name })

		return proof, nil
	}
	var err error
	proof.Nodes, err = instance.Locate(ctx, ProviderName, c.source, candidate.Nodes)
	if len(vcenters)-len(failed) < len(cfg.VirtualCenter) {
		err = nil // VMs that are not found may be in the others
	}

	return proof, err
}

// proveAll proves all vCenters at once. It returns their errors by name, and whether the inventories of those without
// an error were read in time.
func proveAll(ctx context.Context, vcenters []*vcenter, timeout time.Duration) (failed map[string]error, complete bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	errs, read := make([]error, len(vcenters)), make([]bool, len(vcenters))
	var all sync.WaitGroup
	for i, vc := range vcenters {
		all.Go(func() { read[i], errs[i] = vc.prove(ctx) })
	}
	all.Wait()
	failed, complete = map[string]error{}, true
	for i, vc := range vcenters {
		if errs[i] != nil {
			failed[vc.Name] = errs[i]
		}
		complete = complete && (read[i] || errs[i] != nil)
	}

	return failed, complete
}

// prove logs in to a vCenter, and reports whether its inventory was read in time. A datacenter
// that is missing is an error.
func (vc *vcenter) prove(ctx context.Context) (read bool, err error) {
	if err := vc.logIn(ctx); err != nil {
		return false, &loginError{err}
	}
	_ = vc.Inventory.WaitSynced(ctx) // the status has the reason
	switch status := vc.Inventory.Status(); {
	case status.Incomplete != nil:
		return false, apierr.Mark(apierr.ErrNotFound, fmt.Errorf("vCenter %s: %w", vc.Name, status.Incomplete))
	case !status.Synced && status.Err != nil:
		return false, fmt.Errorf("read the inventory of vCenter %s: %w", vc.Name, status.Err)
	default:
		return status.Synced, nil
	}
}

// loginError is the error of a login.
type loginError struct{ error }

// Unwrap returns the cause.
func (e *loginError) Unwrap() error { return e.error }

// onlyLogins reports whether what vCenters have refused are logins.
func onlyLogins(failed map[string]error) bool {
	logins := 0
	for _, err := range failed {
		switch {
		case provider.Unanswered(err):
		case !apierr.Has[*loginError](err) || !errors.Is(err, apierr.ErrDenied):
			return false
		default:
			logins++
		}
	}

	return logins > 0
}

// proofError returns what vCenters have refused, or else that a login may not be tried now, or else that none of them
// responds.
func proofError(failed map[string]error, vcenters int) error {
	errs := lists.Map(slices.Sorted(maps.Keys(failed)), func(name string) error { return failed[name] })
	unanswered, refused := lists.Split(errs, provider.Unanswered)
	notTried := lists.Filter(unanswered, apierr.Has[*login.NotTriedError])
	switch {
	case len(refused) > 0:
		return errors.Join(refused...)
	case len(notTried) > 0:
		return errors.Join(notTried...)
	case len(unanswered) == vcenters:
		return errors.Join(unanswered...)
	}

	return nil
}

// accounts names who is logged in.
func accounts(vcenters []*vcenter) string {
	names := lists.Map(vcenters, func(vc *vcenter) string { return vc.session.Account() })
	slices.Sort(names)

	return strings.Join(lists.Without(slices.Compact(names), []string{""}), ", ")
}

// scope describes the vCenters, their datacenters, the NSX-T manager, and what of them is not proven.
func (c *Config) scope(failed map[string]error, nsxt error) string {
	const unproven = "which is not proven (%v)"
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.VirtualCenter)) {
		vc, what := c.VirtualCenter[name], "all datacenters"
		switch err := failed[name]; {
		case vc.Retired:
			what = "which is retired and not tried"
		case provider.Unanswered(err):
			what = fmt.Sprintf(unproven, err)
		case len(vc.Datacenters) > 0:
			what = "datacenters " + strings.Join(vc.Datacenters, ", ")
		}
		parts = append(parts, fmt.Sprintf("vCenter %s, %s", name, what))
	}
	if c.usesNSXT() {
		part := "NSX-T " + c.NSXT.Host
		if provider.Unanswered(nsxt) {
			part += ", " + fmt.Sprintf(unproven, nsxt)
		}
		parts = append(parts, part)
	}

	return strings.Join(parts, "; ")
}

// Takes implements provider.Rotator: users and passwords in the file are replaced. Those in Secrets
// and directories are read when they change.
func (c *cloud) Takes(ctx context.Context, file *config.File, _ provider.Proof) bool {
	vcenters, changed := c.changed(file)
	for _, vc := range vcenters {
		vc.inFile.Replace(ctx, changed.VirtualCenter[vc.Name].credentials())
	}

	return len(vcenters) > 0
}

// LoggedIn implements provider.Rotator. The sessions stay as they are until vCenter accepts the
// credentials of the file.
func (c *cloud) LoggedIn(ctx context.Context, file *config.File) bool {
	vcenters, changed := c.changed(file)
	loggedIn := len(vcenters) > 0
	for _, vc := range vcenters {
		credentials := changed.VirtualCenter[vc.Name].credentials()
		vc.inFile.Replace(ctx, credentials)
		loggedIn = loggedIn && (vc.Retired || vc.session.LoggedIn(ctx, credentials))
	}

	return loggedIn
}

// changed returns the vCenters whose credentials are in the cloud-config, and the decoded file that
// differs from it in nothing but those. It returns no vCenter for another file.
func (c *cloud) changed(file *config.File) ([]*vcenter, *Config) {
	changed, _, problems := decode(file, c.environment)
	if problems.Err() != nil || !reflect.DeepEqual(changed.withoutCredentials(), c.config.withoutCredentials()) {
		return nil, nil
	}

	return lists.Filter(c.connected(), func(vc *vcenter) bool { return vc.inFile != nil }), changed
}

// withoutCredentials returns a copy that shows of users and passwords only whether they are set.
func (c *Config) withoutCredentials() *Config {
	const set = "set"
	hide := func(connection Connection) Connection {
		if connection.User != "" {
			connection.User = set
		}
		if connection.Password != "" {
			connection.Password = set
		}

		return connection
	}
	rest := *c
	rest.Global.Connection = hide(c.Global.Connection)
	rest.VirtualCenter = make(map[string]*VirtualCenter, len(c.VirtualCenter))
	for name, vc := range c.VirtualCenter {
		hidden := *vc
		hidden.Connection = hide(vc.Connection)
		rest.VirtualCenter[name] = &hidden
	}

	return &rest
}
