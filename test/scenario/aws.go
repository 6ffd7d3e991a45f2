package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

func awsProvider() Provider {
	return Provider{
		Name:  "aws",
		Demo:  func() (Cloud, error) { return startAWS(awsDemo(), 0) },
		Fleet: func(n int, latency time.Duration) (Cloud, error) { return startAWS(awsFleet(n), latency) },
		// AWS lets an account create ten load balancers of a kind at once, and then one
		// every five seconds: 50 of each kind take 200 seconds.
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-api-throttling.html
		Budget: Budget{Initialize: 30, Steady: 10, Lifecycle: 2, Services: 240 * time.Second},
		LoadBalancers: []LoadBalancer{
			{Name: "classic", Create: 12},
			{
				Name: "network", Create: 12,
				Annotations: map[string]string{"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"},
			},
		},
	}
}

// awsRegion is where everything is.
const awsRegion = "eu-central-1"

// awsDemo lists five instances. The first one is where the controller manager
// runs: it has the metadata service.
func awsDemo() []aws.InstanceSpec {
	return []aws.InstanceSpec{{Type: "m7i.large"}, {Type: "m7i.xlarge"}, {Type: "m7i.xlarge"}, {Type: "c7g.2xlarge"}, {Type: "r7a.2xlarge"}}
}

// awsFleet lists n instances of the same type. Every tenth is full of Pods.
func awsFleet(n int) []aws.InstanceSpec {
	all := make([]aws.InstanceSpec, n)
	for i := range all {
		all[i].Pods = i%10 == 9
	}

	return all
}

// awsCloud is one simulated region with the VPC of one cluster.
type awsCloud struct {
	*aws.Cloud

	seed     *aws.Seed
	machines []Machine
	ids      map[string]string // instances by the names of their nodes
	creation []*simserver.Rule
}

var _ ServiceCloud = (*awsCloud)(nil)

func startAWS(instances []aws.InstanceSpec, latency time.Duration) (Cloud, error) {
	cloud, err := aws.Start(aws.Options{
		Region: awsRegion,
		// What AWS raises on request, for as many Services as are measured.
		Limits: aws.Limits{RulesPerSecurityGroup: 1000},
	})
	if err != nil {
		return nil, fmt.Errorf("start simulated region: %w", err)
	}
	// As many load balancers as are measured, each with every node behind two ports.
	cloud.SetQuotas(aws.Quotas{
		ClassicLoadBalancers: 1000, ClassicInstances: 10_000, NetworkLoadBalancers: 1000,
		Targets: 10_000, LoadBalancerTargets: 20_000, ZoneTargets: 20_000,
	})
	c := &awsCloud{Cloud: cloud, seed: cloud.Seed("demo"), ids: map[string]string{}}
	for _, spec := range instances {
		c.add(c.seed.AddNode(spec))
	}
	cloud.Interceptor().SetLatency(latency)

	return c, nil
}

// add notes what the node of an instance is to have.
func (c *awsCloud) add(id string) {
	name, providerID := c.PrivateDNSName(id), c.ProviderID(id)
	zone := strings.Split(providerID, "/")[3] // aws:///zone/id
	c.ids[name] = id
	c.machines = append(c.machines, Machine{
		Node:       controlplane.NodeSpec{Name: name, SystemUUID: "ec2" + strings.TrimPrefix(id, "i-")},
		ProviderID: providerID,
		Zone:       zone,
		Region:     awsRegion,
		Address:    c.PrivateIPs(id)[0],
	})
}

func (c *awsCloud) Description() string {
	return fmt.Sprintf("region %s at %s with %d zones, the VPC of a cluster, %d instances",
		c.Region(), c.URL(), len(c.seed.Zones), len(c.machines))
}

// Config leaves out whatever the instance metadata has.
func (c *awsCloud) Config() string { return "[Global]\nprovider = aws\n" }

func (c *awsCloud) Machines() []Machine { return c.machines }

// Replace keeps the first instance, which has the metadata service.
func (c *awsCloud) Replace(n int) (deleted, added []Machine, err error) {
	n = min(n, len(c.machines)-1)
	deleted = slices.Clone(c.machines[1 : n+1])
	c.machines = slices.Delete(c.machines, 1, n+1)
	for _, m := range deleted {
		c.Remove(c.ids[m.Node.Name])
		c.add(c.seed.AddNode(aws.InstanceSpec{}))
	}

	return deleted, c.machines[len(c.machines)-n:], nil
}

func (c *awsCloud) Calls() Calls { return Calls{Counted: c.Interceptor().Calls()} }

func (c *awsCloud) SetPower(name string, on bool) error {
	state := aws.Stopped
	if on {
		state = aws.Running
	}
	c.SetState(c.ids[name], state)

	return nil
}

func (c *awsCloud) SetReachable(reachable bool) error {
	if reachable {
		return c.Server().Up()
	}
	c.Server().Down()

	return nil
}

func (c *awsCloud) Made() []string { return c.Leaks() }

func (c *awsCloud) Writes() Calls { return Calls{Counted: c.Cloud.Writes()} }

// SetProvisioning makes the calls that create load balancers take that long.
// Afterwards network load balancers are being provisioned for the same time,
// which nothing waits for.
func (c *awsCloud) SetProvisioning(d time.Duration) {
	for _, rule := range c.creation {
		rule.Remove()
	}
	c.creation = nil
	c.SetProvisioningDelay(d)
	for _, op := range []string{"elb.CreateLoadBalancer", "elbv2.CreateLoadBalancer"} {
		c.creation = append(c.creation, c.Interceptor().Inject(op, simserver.Always(), simserver.Slow(d)))
	}
}
