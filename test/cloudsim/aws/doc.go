// Package aws simulates a region of AWS over plain HTTP on loopback: EC2,
// classic and network load balancing, STS and instance metadata. Tests of the
// AWS provider, the demo and the benchmark run against it with the SDK they use
// in production; the aws command line works too.
//
//	cloud, err := aws.Start(aws.Options{})
//	defer cloud.Close()
//	seed := cloud.Seed("demo")                  // a cluster's VPC: zones, subnets, tables, node group
//	ids := seed.AddNodes(3)                     // or AddNode, AddInstance, AddFargate for special ones
//	client := ec2.NewFromConfig(cloud.Config()) // or cloud.Environment() for another process
//
//	cloud.SetState(ids[0], aws.Stopped); cloud.Terminate(ids[1]); cloud.Remove(ids[2])
//	cloud.AddRule(seed.NodeGroup, aws.Rule{Protocol: "tcp", From: 22, To: 22, Source: "10.0.0.0/8"})
//	cloud.Interceptor().Calls()["DescribeInstances"]   // what clients did: see simserver.Log
//	cloud.Requests("DescribeInstances")[0].Form // and with which parameters
//	cloud.Writes()                              // only the mutating ones
//	cloud.Classic("a0f0e"); cloud.Network("a0f0e") // load balancers with all they have
//	cloud.BlockedTraffic("a0f0e", "0.0.0.0/0")  // what its security groups block
//	cloud.Leaks(); cloud.Dump()                 // what they did not delete, and the state as text
//	state := cloud.Snapshot(); cloud.Restore(state)  // the same state again
//	cloud.Interceptor().Inject("CreateTags", simserver.Nth(2), aws.Throttled())
//	cloud.Interceptor().Inject("elbv2", simserver.First(3), aws.Error(500, "InternalError", "try later"))
//	cloud.Interceptor().SetLatency(30 * time.Millisecond)
//	cloud.Interceptor().Inject("elbv2.RegisterTargets", simserver.Nth(1), simserver.Before(func() { cloud.Terminate(ids[0]) }))
//	cloud.SetDenied("elasticloadbalancing:DeleteLoadBalancer", "ec2:Describe*")
//	cloud.ThrottledCalls()
//	cloud.SetQuotas(aws.Quotas{ZoneTargets: 1000})
//	cloud.SetCertificates(arn)
//	cloud.SetConsistency(aws.Consistency{Reads: 2})
//	cloud.SetFilterTime(3 * time.Millisecond)   // for each instance of the account
//	cloud.Server().Down(); cloud.Server().Hang(); cloud.Server().Up()
//
// # Operations
//
// Calls of EC2 and STS are counted by action: DescribeInstances, AssumeRole.
// Those of classic load balancing have the prefix "elb.", of network load
// balancing "elbv2."; instance metadata is imds.GetToken and imds.GetMetadata.
// Their groups are ec2, sts, elb, elbv2 and imds. An API is known by the Version
// parameter of its requests, so all of them share one endpoint. An action that is
// not there fails with InvalidAction.
//
// # Time
//
// All delays, token buckets, expiries and drains go by [Options].Clock. With a
// clock of k8s.io/utils/clock/testing a test steps the time:
//
//	clock := testingclock.NewFakePassiveClock(time.Now())
//	cloud, err := aws.Start(aws.Options{Clock: clock})
//	clock.SetTime(clock.Now().Add(3 * time.Minute)) // interfaces of deleted load balancers are gone
//
// With [ScaledClock] minutes pass in moments. Nothing in the simulated region
// waits: what is due happens at the next call. Only the latency of the
// interceptor and its effects Slow and Hold take real time.
//
// With such a clock the [TypicalDelays] of AWS are on, since they cost nothing.
// With the real clock there are no delays unless [Options].Delays, or one of the
// methods that set a delay, sets some: a suite that does not step the time
// would wait for minutes, and what it tests is not the waiting.
//
// The token buckets that AWS documents are always on, with any clock. Tests that
// make the calls of minutes in milliseconds, such as those that explore every
// crash, set [Options].DisableThrottling, with a comment why.
//
// # What is as in AWS
//
//   - Signatures (version 4) are computed and compared, with the region and the
//     service in their scope. Keys of assumed roles and of the instance profile
//     expire, and can be demanded with [Cloud.RequireRole].
//   - What AWS rejects is rejected with AWS's error code, in the format of the
//     API: malformed and unknown IDs, filters with more than 200 values, pages of
//     a wrong size, IDs together with MaxResults, too many tags, rules, routes.
//   - Rules of a security group are a set. Descriptions are no part of a rule;
//     ranges are stored in canonical form; responses merge the rules with the same
//     protocol and ports into one permission. A call that adds a rule twice or
//     revokes a missing one changes nothing. A group that a network interface
//     holds, or that a rule of another group names, cannot be deleted.
//   - A terminated instance has no network interfaces, names and addresses, but
//     is described until [Cloud.Remove]. Routes to it, and to a stopped instance,
//     are black holes. Operations by instance ID are rejected when there are
//     several network interfaces.
//   - Creating a load balancer, target group or listener again with the same
//     settings, tags included, returns the existing one; with others it is a
//     duplicate. Deleting an absent load balancer or target group succeeds, a
//     target group in use stays.
//   - Load balancers have a network interface in every subnet, which takes an
//     address there, holds their security groups and can outlive them. Network
//     load balancers made without groups never get any. Deregistered targets
//     drain, see [Cloud.SetDrainingDelay]. See [Delays] for the others.
//   - Calls are throttled by the documented token buckets of each API, category
//     and operation: see [Cloud.Throttles].
//   - The documented quotas of load balancers hold: see [Quotas]. Targets count
//     once for each of their target groups, per zone and per load balancer.
//   - Targets are registered together or not at all, in their state at the time
//     of the call: an instance that stopped a moment ago, or whose type is not
//     supported, makes the call fail. The same holds for classic load balancers.
//   - A health check's interval is not below its timeout, be that the default. A
//     certificate exists; a protected load balancer stays.
//   - Traffic is not simulated, but [Cloud.BlockedTraffic] returns what the
//     security groups would block: clients, health checks, and the load balancer itself.
//   - A resource that was changed between two pages of a result is neither missing
//     nor listed twice.
//
// # What it does not do
//
//   - Instances, subnets, gateways and the like are made by the builder, not by
//     RunInstances and the like. Builders panic when a spec is invalid.
//   - Of security groups only inbound rules exist. The existence of prefix lists
//     and gateways is not checked. Without [Cloud.SetCertificates] there are all
//     certificates that could be of the account and the region.
//   - There are no policies; use [Cloud.SetDenied], or the effect [Denied] for
//     single calls. DryRun always returns DryRunOperation.
//   - A call that is throttled takes no token. Buckets fill continuously, not once
//     a second.
//   - Load balancers are classic or network ones, with IPv4 addresses; targets are
//     instances. Instances that run are healthy.
//   - IDs may be shorter than AWS's: i-0a is fine.
package aws
