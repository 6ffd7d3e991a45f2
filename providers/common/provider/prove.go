package provider

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

const (
	// ProveTimeout bounds a proof with the end of its sessions.
	ProveTimeout = 30 * time.Second
	// endTimeout is how much of that is for the end of its sessions.
	endTimeout = 5 * time.Second
)

// BeginProof returns the context of a proof, which ends in time for [EndProof].
func BeginProof(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, ProveTimeout-endTimeout)
}

// EndProof ends the sessions of a proof, whose context may have ended. Those that remain end by
// themselves.
func EndProof(ctx context.Context, end func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := end(ctx); err != nil {
		klog.FromContext(ctx).V(2).Info("Could not end the sessions of a proof", "reason", err.Error())
	}
}

// Candidate is a cloud-config to prove.
type Candidate struct {
	// File is a cloud-config that Decode found without errors.
	File *config.File
	// Nodes are those of the cluster, none if they are not known.
	Nodes []*v1.Node
	// Clients makes clients of the Kubernetes API, for credentials in a Secret. Nil means
	// that there is no cluster.
	Clients cloudprovider.ControllerClientBuilder
}

// Proof is what a cloud-config leads to.
type Proof struct {
	// Identity is who the cloud takes the caller for.
	Identity string
	// Scope is where resources are: the project, the account with its VPC, or the
	// datacenters.
	Scope string
	// Region is the region, empty in a cloud without regions.
	Region string
	// Nodes are those that were looked up.
	Nodes instance.Located
	// LoginRefused means that the cloud has refused logins, and nothing else.
	LoginRefused bool
}

// Unanswered reports whether a proof has failed without a certain response about the cloud-config:
// the cloud or the API server does not respond, or a login is not tried now. It can be repeated.
func Unanswered(err error) bool {
	if err == nil {
		return false
	}
	if notTried, ok := errors.AsType[*login.NotTriedError](err); ok {
		return !notTried.Refused // the running cloud may have tried this password already
	}
	switch apierr.Code(err) {
	case apierr.CodeDenied, apierr.CodeNotFound, apierr.CodeInvalid, apierr.CodeConflict, apierr.CodeUntrusted:
		return false
	}

	return true
}

// Rotator is a cloud that replaces its credentials while it runs.
type Rotator interface {
	// Takes reports whether the cloud replaces its credentials with those of a cloud-config
	// that was proven, which is the same otherwise. The settings that all providers have are
	// not compared.
	Takes(ctx context.Context, file *config.File, proof Proof) bool
	// LoggedIn reports whether the last login of the cloud was with the credentials of a
	// cloud-config, which need not be proven. Otherwise the cloud begins to log in with them if
	// the limit of refused logins allows it, and goes on with those in use until they are
	// accepted. It does not wait.
	LoggedIn(ctx context.Context, file *config.File) bool
}
