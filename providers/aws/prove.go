package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

const (
	// callerTimeout bounds the request for the identity of the caller, which is only shown:
	// a network may have endpoints of EC2 and none of STS.
	callerTimeout = 5 * time.Second
	// proveAttempt bounds an attempt of a proof: there is time for one alone.
	proveAttempt = 25 * time.Second
	// fewest is the lowest limit that EC2 takes for the size of a page.
	fewest = 5
)

// prove is the proof of a cloud-config in the environment of this process.
func prove(ctx context.Context, candidate provider.Candidate) (provider.Proof, error) {
	return proveWith(ctx, candidate, cloudTuning{})
}

// proveWith finds the identity that a cloud would have, its VPC and the instances of the Nodes,
// all at once.
func proveWith(ctx context.Context, candidate provider.Candidate, t cloudTuning) (provider.Proof, error) {
	cfg, problems := decode(candidate.File)
	if err := problems.Err(); err != nil {
		return provider.Proof{}, err
	}
	t.client.Timeout = cmp.Or(t.client.Timeout, proveAttempt)
	clients, id, err := connect(ctx, cfg, client.Options{Tuning: t.client})
	if err != nil {
		return provider.Proof{}, err
	}
	defer clients.Close(ctx) //nolint:errcheck // nothing was written
	proof := provider.Proof{
		Scope:  fmt.Sprintf("VPC %s, cluster %s", id.VPC, cmp.Or(id.Cluster.Name, "without an ID")),
		Region: id.Region,
	}
	var all sync.WaitGroup
	var accepted bool
	var vpcErr, nodesErr error
	all.Go(func() { proof.Identity = caller(ctx, clients) })
	all.Go(func() { accepted, vpcErr = findVPC(ctx, clients.EC2, id.VPC) })
	all.Go(func() {
		parts := newNodeParts(cfg, id, clients.EC2, t.source.WithDefaults(), nil)
		proof.Nodes, nodesErr = instance.Locate(ctx, ProviderName, parts.source, candidate.Nodes)
	})
	all.Wait()
	switch {
	case vpcErr != nil:
		return proof, vpcErr
	case nodesErr != nil && (!accepted || !provider.Unanswered(nodesErr)):
		return proof, nodesErr
	}

	return proof, id.checkNodes(proof.Nodes.Found)
}

// caller returns the ARN of the caller, or why it is not known.
func caller(ctx context.Context, clients *client.Clients) string {
	ctx, cancel := context.WithTimeout(ctx, callerTimeout)
	defer cancel()
	arn, err := clients.Caller(ctx)
	if err != nil {
		return fmt.Sprintf("not known (%v)", err)
	}

	return arn
}

// findVPC returns an error if EC2 has no subnet of the VPC in this region, and reports whether it
// has. Without the permission to list subnets, neither is known.
func findVPC(ctx context.Context, api client.Network, vpc string) (found bool, err error) {
	out, err := api.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{
		Filters: []types.Filter{awstype.Filter("vpc-id", vpc)}, MaxResults: aws.Int32(fewest),
	})
	switch {
	case client.Code(err) == "UnauthorizedOperation":
		return false, nil
	case err != nil:
		return false, fmt.Errorf("find VPC %s: %w", vpc, err)
	case len(out.Subnets) == 0:
		return false, apierr.Mark(apierr.ErrNotFound, fmt.Errorf("find VPC %s: EC2 has no subnet of it in this region", vpc))
	}

	return true, nil
}

// checkNodes returns an error if the instances of all Nodes have tags of other clusters, or are in
// other VPCs.
func (id *identity) checkNodes(found []instance.Instance) error {
	var errs []error
	for _, one := range found {
		m, ok := one.(nodes.Machine)
		if !ok {
			return nil // a Fargate node, which is looked up in the VPC
		}
		err := id.Cluster.NotOwned("instance "+m.ID, m.Tags)
		if err == nil && m.VPC != "" && m.VPC != id.VPC {
			err = apierr.Mark(apierr.ErrConflict, fmt.Errorf("instance %s is in VPC %s, not in %s", m.ID, m.VPC, id.VPC))
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}

	return errors.Join(errs...)
}
