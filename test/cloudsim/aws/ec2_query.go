package aws

import (
	"net/http"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// queries is how EC2 responds to DescribeInstances.
type queries struct {
	// perInstance is the time for each instance that a filter is compared with.
	perInstance time.Duration
	// firstMissing makes errors name only the first of several missing instances.
	firstMissing bool
}

// SetFilterTime sets how long DescribeInstances takes for each instance of the
// account if it has filters; the time passes before the first page. AWS has no
// index for filters: in an account with many instances, a filter by ID takes
// seconds where InstanceIds takes none. 3 ms are 15 s for 5,000 instances.
// https://github.com/hashicorp/vault/issues/2767
// https://github.com/github-aws-runners/terraform-aws-github-runner/issues/3200
func (c *Cloud) SetFilterTime(perInstance time.Duration) {
	c.inspect(func() { c.ec2.queries.perInstance = perInstance })
}

// SetFirstMissing makes InvalidInstanceID.NotFound name only the first of several
// missing instances. AWS names them all, and documents neither:
// https://github.com/boto/boto3/issues/977
func (c *Cloud) SetFirstMissing(first bool) {
	c.inspect(func() { c.ec2.queries.firstMissing = first })
}

// timed returns a handler that takes the time that EC2 takes for a request.
func (c *Cloud) timed(request Request, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		simserver.Slow(c.queryTime(request))(w, r, handler)
	})
}

func (c *Cloud) queryTime(request Request) time.Duration {
	form := request.Form
	if form.Get("Action") != "DescribeInstances" || !form.Has("Filter.1.Name") || form.Get("NextToken") != "" {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.ec2.queries.perInstance * time.Duration(len(c.ec2.instances.byID))
}
