package certainty

import (
	"errors"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Reasons why it is not known that a load balancer is absent.
var (
	// ErrNoLoadBalancerResponse means that Octavia did not respond about the load balancer.
	ErrNoLoadBalancerResponse = unusable("Octavia has not responded about the load balancer")
	// ErrPartialLoadBalancers means that a page of the list is missing.
	ErrPartialLoadBalancers = unusable("not all load balancers of the project could be listed")
	// ErrUnprovenProject means that the load balancer may be in another project or another
	// region: no server of a Node was found with the same credentials.
	ErrUnprovenProject = unusable(
		"the load balancer is missing, and no server of a Node was found in this project and region, so that it may be in another one")
	// ErrRecordedRegion means that the Nodes are in another region than the configured one.
	ErrRecordedRegion = apierr.Mark(apierr.ErrUnavailable, errors.New(
		"the load balancer is missing, and the Nodes are in another region than the configured one"))
)

// LoadBalancerEvidence is what is known about a load balancer that a Service had. A new
// load balancer has another address.
type LoadBalancerEvidence struct {
	Scope
	// ID is that of the load balancer, empty if only its name is known.
	ID string
	// Response is that of a GET of the load balancer alone.
	Response Response
	// Complete is whether the list of the project was read to its end, Listed whether a
	// load balancer of the Service is in it.
	Complete, Listed bool
	// Recorded is the region of the Nodes, empty if they have none.
	Recorded string
	// Other is when the server of a Node was found last, with the same credentials.
	Other time.Time
	// NoServers means that no Node has a server, so that none can be found, and that
	// nothing will be made: the Service is deleted.
	NoServers bool
	Now       time.Time
}

// Verdict returns whether the load balancer exists. The first line that fits decides:
//
//	no project                                                 uncertain
//	in the list, or the GET found it                           present
//	the GET got anything but Octavia's own 404                 uncertain
//	a page of the list is missing                              uncertain
//	the Nodes are in another region                            uncertain
//	no Node has a server, and the Service is deleted           absent
//	no server of a Node was found for 30 s                     uncertain
//	otherwise                                                  absent
//
// Octavia responds with 403 to the ID of another project, which is no 404 (octavia:
// api/v2/controllers/base.py).
func (e LoadBalancerEvidence) Verdict() Verdict {
	switch {
	case e.Project == "":
		return uncertain(ErrNoProject)
	case e.Listed || e.ID != "" && e.Response == Found:
		return Verdict{Kind: Present}
	case e.ID != "" && e.Response != NotFound:
		return uncertain(ErrNoLoadBalancerResponse)
	case !e.Complete:
		return uncertain(ErrPartialLoadBalancers)
	case e.Recorded != "" && e.Recorded != e.Region:
		return uncertain(ErrRecordedRegion)
	case e.NoServers:
		return Verdict{Kind: Absent}
	case e.Other.IsZero() || e.Now.Sub(e.Other) > OtherAge:
		return uncertain(ErrUnprovenProject)
	}

	return Verdict{Kind: Absent}
}
