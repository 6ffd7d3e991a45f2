package inventory

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Limits of EC2.
const (
	// maxIDs is the maximum number of values of the filters of a call, and bounds
	// the size of a response: the IDs of a call have one page.
	maxIDs = 200
	// maxNames leaves one value for the other filter of a query by name.
	maxNames = 150
)

// pageSize is how many instances a page has: 13 pages for 5000 instances. EC2
// allows 5 to 1000
// (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html).
// An instance with four network interfaces of 30 addresses each is 23 kB of XML and
// takes 190 kB to decode. A page of 1000 of them would take more memory than the rest
// of the process.
const pageSize = 400

// Error codes of EC2 for an instance that does not exist, and for an ID that none
// can have.
const (
	CodeNotFound  = "InvalidInstanceID.NotFound"
	CodeMalformed = "InvalidInstanceID.Malformed"
)

// maxRefusals is how many times the IDs of a call are reduced to those that EC2
// did not refuse: it need not name all that it refuses.
const maxRefusals = 3

// ErrNoList means that a response contains no list, not even an empty one: it
// is not from EC2, and proves nothing about what exists.
var ErrNoList = apierr.Mark(apierr.ErrUnavailable, errors.New("the response is not one of EC2: it has no list in it"))

// living is the filter for instances that are not terminated.
func living() types.Filter {
	return awstype.Filter("instance-state-name",
		string(types.InstanceStateNamePending), string(types.InstanceStateNameRunning), string(types.InstanceStateNameShuttingDown),
		string(types.InstanceStateNameStopping), string(types.InstanceStateNameStopped))
}

// describeCluster lists the living instances of the cluster. If that fails, the
// instances of the pages that were received are returned along with the error.
func (i *Inventory) describeCluster(ctx context.Context) ([]*Instance, error) {
	var all []*Instance
	for _, scope := range i.scopes() {
		found, err := i.describe(ctx, &ec2.DescribeInstancesInput{Filters: append(scope, living()), MaxResults: aws.Int32(pageSize)})
		all = append(all, i.members(found)...)
		if err != nil {
			return all, fmt.Errorf("list the instances of the cluster: %w", err)
		}
	}

	return all, nil
}

// scopes returns the filters for instances of the cluster. Filters cannot
// express "this tag or that one", so that each tag needs its own list.
func (i *Inventory) scopes() [][]types.Filter {
	id := i.config.Cluster
	switch {
	case id.Name != "" && id.Legacy:
		return [][]types.Filter{{awstype.Filter("tag-key", id.Tag())}, {awstype.Filter("tag:"+cluster.LegacyTag, id.Name)}}
	case id.Name != "":
		return [][]types.Filter{{awstype.Filter("tag-key", id.Tag())}}
	case i.config.VPC != "":
		return [][]types.Filter{{awstype.Filter("vpc-id", i.config.VPC)}}
	}

	return [][]types.Filter{nil}
}

// describeIDs returns the instances that exist. A filter for the IDs would do, but
// takes EC2 seconds in an account with many instances. An ID that EC2 does not have
// makes it refuse all of them; as a filter value, it is no error.
func (i *Inventory) describeIDs(ctx context.Context, ids []string) ([]*Instance, error) {
	for range maxRefusals {
		found, err := i.describe(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids})
		if code := client.Code(err); code != CodeNotFound && code != CodeMalformed {
			return described(found, len(ids), err)
		}
		if ids = slices.DeleteFunc(slices.Clone(ids), Named(err).Has); len(ids) == 0 {
			return nil, nil
		}
	}
	found, err := i.describe(ctx, &ec2.DescribeInstancesInput{Filters: []types.Filter{awstype.Filter("instance-id", ids...)}, MaxResults: aws.Int32(pageSize)})

	return described(found, len(ids), err)
}

// described returns the result of a call for so many instances.
func described(found []*Instance, n int, err error) ([]*Instance, error) {
	if err != nil {
		return nil, fmt.Errorf("describe %d instances: %w", n, err)
	}

	return found, nil
}

// describeNames returns the living instances with one of these private DNS
// names, of this cluster or not.
func (i *Inventory) describeNames(ctx context.Context, names []string) ([]*Instance, error) {
	filters := []types.Filter{awstype.Filter("private-dns-name", names...), living()}
	found, err := i.describe(ctx, &ec2.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(pageSize)})
	if err != nil {
		return nil, fmt.Errorf("describe %d instances by name: %w", len(names), err)
	}

	return found, nil
}

// describeMembers returns the instances of the cluster with one of these names.
func (i *Inventory) describeMembers(ctx context.Context, names []string) ([]*Instance, error) {
	found, err := i.describeNames(ctx, names)

	return i.members(found), err
}

// describeOne describes one instance by ID. Only this query reports whether the
// ID is well formed. It returns nil if there is none.
func (i *Inventory) describeOne(ctx context.Context, id string) (*Instance, error) {
	found, err := i.describe(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if client.Code(err) == CodeNotFound {
		return nil, nil //nolint:nilnil // absence is a result
	}
	if err != nil {
		return nil, fmt.Errorf("describe instance %s: %w", id, err)
	}
	for _, one := range found {
		if one.ID == id {
			return one, nil
		}
	}

	return nil, nil //nolint:nilnil // as above
}

// describe returns the instances of all pages. If a page fails, the instances
// of the pages before it are returned along with the error.
func (i *Inventory) describe(ctx context.Context, input *ec2.DescribeInstancesInput) ([]*Instance, error) {
	var all []*Instance
	for pages := ec2.NewDescribeInstancesPaginator(i.api, input); pages.HasMorePages(); {
		page, err := i.nextPage(ctx, pages)
		if err != nil {
			return all, err
		}
		for _, reservation := range page.Reservations {
			for k := range reservation.Instances {
				if one := toInstance(&reservation.Instances[k]); one.ID != "" {
					all = append(all, one)
				}
			}
		}
	}

	return all, nil
}

// nextPage reads a page, within the timeout of one call.
func (i *Inventory) nextPage(ctx context.Context, pages *ec2.DescribeInstancesPaginator) (*ec2.DescribeInstancesOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, i.config.Timeout)
	defer cancel()
	page, err := pages.NextPage(ctx)
	if err == nil && page.Reservations == nil {
		err = ErrNoList
	}

	return page, err
}

// instanceIDs matches IDs in a text.
var instanceIDs = regexp.MustCompile(`\bi-[0-9A-Za-z_-]+`)

// Named returns the instances that EC2 names in the text of an error, which is
// the only way to distinguish them from the others of the call.
func Named(err error) sets.Set[string] {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return nil
	}

	return sets.New(instanceIDs.FindAllString(api.ErrorMessage(), -1)...)
}
