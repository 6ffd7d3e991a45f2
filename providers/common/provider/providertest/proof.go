package providertest

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// Proof is a proof of a cloud-config in a simulated cloud, and what it must lead to.
type Proof struct {
	Reason string
	// Prove is that of the provider, with other times.
	Prove func(context.Context, provider.Candidate) (provider.Proof, error)
	Text  string
	Nodes []*v1.Node

	// Identity and Scope are parts of those of the proof, Found is how many Nodes have an
	// instance, and Missing and Unknown are the names of others.
	Identity, Scope  string
	Found            int
	Missing, Unknown []string
	// Err is a part of the error, empty if there is none, and Unanswered reports whether the
	// proof can be repeated. LoginRefused reports whether it is about logins alone.
	Err          string
	Unanswered   bool
	LoginRefused bool
	// Changes lists what was changed in the cloud, and the sessions that are left. It is required.
	Changes func() []string
}

// Check proves the cloud-config.
func (p Proof) Check(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), provider.ProveTimeout)
	defer cancel()
	p.check(ctx, t)
}

// CheckHanging proves the cloud-config of a cloud, one in memory, that takes requests and never responds: the proof ends
// in time. It runs in a testing/synctest bubble.
func CheckHanging(t *testing.T, start func(t *testing.T) Proof) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := start(t)
		begun := time.Now()
		ctx, cancel := provider.BeginProof(t.Context())
		defer cancel()
		p.check(ctx, t)
		if took := time.Since(begun); took > provider.ProveTimeout {
			t.Errorf("%s: the proof took %s", p.Reason, took)
		}
	})
}

func (p Proof) check(ctx context.Context, t *testing.T) {
	t.Helper()
	file, err := config.Parse("cloud.conf", []byte(p.Text))
	if err != nil {
		t.Fatal(err)
	}
	proof, err := p.Prove(ctx, provider.Candidate{File: file, Nodes: p.Nodes})
	switch {
	case p.Err == "" && err != nil:
		t.Errorf("%s: %v", p.Reason, err)
	case p.Err != "" && (err == nil || !strings.Contains(err.Error(), p.Err)):
		t.Errorf("%s: error %v, want %q", p.Reason, err, p.Err)
	case provider.Unanswered(err) != p.Unanswered:
		t.Errorf("%s: can be repeated is %t after %v", p.Reason, !p.Unanswered, err)
	}
	if proof.LoginRefused != p.LoginRefused {
		t.Errorf("%s: only logins were refused is %t after %v", p.Reason, proof.LoginRefused, err)
	}
	if !strings.Contains(proof.Identity, p.Identity) || !strings.Contains(proof.Scope, p.Scope) {
		t.Errorf("%s: identity %q, scope %q; want %q, %q", p.Reason, proof.Identity, proof.Scope, p.Identity, p.Scope)
	}
	if n := len(proof.Nodes.Found); n != p.Found {
		t.Errorf("%s: %d Nodes found, want %d", p.Reason, n, p.Found)
	}
	for what, names := range map[string][2][]string{"missing": {p.Missing, proof.Nodes.Missing}, "unknown": {p.Unknown, proof.Nodes.Unknown}} {
		if diff := cmp.Diff(names[0], names[1], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: Nodes that are %s (-want +got):\n%s", p.Reason, what, diff)
		}
	}
	if changes := p.Changes(); len(changes) > 0 {
		t.Errorf("%s: a proof leaves nothing: %q", p.Reason, changes)
	}
}
