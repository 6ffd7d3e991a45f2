package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/nodes"
)

// prove is the proof of a cloud-config in the environment of this process.
func prove(ctx context.Context, candidate provider.Candidate) (provider.Proof, error) {
	return proveIn(ctx, candidate, processEnvironment(), tuning{client: client.Options{LoginGuard: login.OfProcess()}})
}

// proveIn logs in, and finds the project, the endpoint of Nova and the servers of the Nodes.
func proveIn(ctx context.Context, candidate provider.Candidate, env environment, t tuning) (provider.Proof, error) {
	cfg, problems := decode(candidate.File, env)
	if err := problems.Err(); err != nil {
		return provider.Proof{}, err
	}
	settings := cfg.clientConfig()
	settings.UserAgent = flags.userAgent
	api, err := client.New(settings, credential.NewInFile(cfg.login, nil), t.client)
	if err != nil {
		return provider.Proof{}, err
	}
	defer provider.EndProof(ctx, api.Close)
	proof := provider.Proof{Identity: cfg.login.String(), Region: cmp.Or(cfg.Global.Region, "the first of the catalog")}
	project, err := api.Project(ctx)
	if err != nil {
		proof.LoginRefused = errors.Is(err, apierr.ErrDenied) && !provider.Unanswered(err)

		return proof, err
	}
	proof.Scope = scopeOf(project)
	if err := api.Compute().Available(ctx); err != nil {
		if errors.Is(err, client.ErrNoEndpoint) {
			err = apierr.Mark(apierr.ErrInvalid, err) // the token is new, and so is the catalog
		}

		return proof, fmt.Errorf("find Nova: %w", err)
	}
	servers := inventory.New(inventory.API{Compute: api.Compute(), Network: api.Network(), Project: api.Project}, t.inventory)
	defer servers.Close()
	noIndex := func() *nodeindex.Index { return nil }
	proof.Nodes, err = instance.Locate(ctx, ProviderName, &fewFirst{Source: nodes.New(cfg.nodesConfig(), servers, noIndex)}, candidate.Nodes)

	return proof, err
}

// fewFirst is the source of a proof, which has no index of all Nodes: it reads the servers of the first few
// Nodes alone, among them those that [instance.Locate] looks up before all others.
type fewFirst struct {
	*nodes.Source

	lookups atomic.Int64
}

// Lookup implements instance.Source.
func (s *fewFirst) Lookup(ctx context.Context, ref instance.Ref) instance.Result {
	return s.Find(ctx, ref, s.lookups.Add(1) <= nodes.FewNodes)
}

// Confirm implements instance.Source. That the servers of all other Nodes are missing as well, which keeps
// a Node, is what a proof is looking for.
func (s *fewFirst) Confirm(ctx context.Context, ref instance.Ref) instance.Result {
	return s.Find(ctx, ref, true)
}

// Takes implements provider.Rotator: the credentials are read again whenever the cloud-config
// changes, but those of another project cannot be used by this process.
func (c *cloud) Takes(ctx context.Context, file *config.File, proof provider.Proof) bool {
	if c.readCredentials == nil {
		return false
	}
	project, err := c.client.Project(ctx)
	if err != nil || scopeOf(project) != proof.Scope {
		return false
	}
	changed, problems := decode(file, c.environment)

	return problems.Err() == nil && reflect.DeepEqual(changed.withoutCredentials(), c.config.withoutCredentials())
}

// LoggedIn implements provider.Rotator.
func (c *cloud) LoggedIn(ctx context.Context, file *config.File) bool {
	cfg, problems := decode(file, c.environment)

	return problems.Err() == nil && c.client.LoggedIn(ctx, cfg.login)
}

func scopeOf(project string) string { return "project " + project }

// withoutCredentials returns a copy without what a login may have instead while the process
// runs. The scope stays.
func (c *Config) withoutCredentials() Config {
	rest := *c
	g := &rest.Global
	rest.login = client.Credentials{}
	g.Username, g.UserID, g.UserDomainID, g.UserDomainName, g.Password = "", "", "", "", ""
	g.TrusteeID, g.TrusteePassword, g.Token = "", "", ""
	g.ApplicationCredentialID, g.ApplicationCredentialName, g.ApplicationCredentialSecret = "", "", ""

	return rest
}
