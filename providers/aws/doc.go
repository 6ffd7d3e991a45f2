// Package aws is the cloud provider for clusters on Amazon EC2.
//
// What it does: it initializes Nodes (provider ID, addresses of both families,
// instance type, zone, region, network topology), those of Fargate too, taints
// those whose instance is stopped and makes Nodes be deleted whose instance was
// terminated; it makes classic and network load balancers for Services, and
// routes to the pod networks of Nodes. On request it tags the instances of Nodes.
//
// What it does not do: application load balancers, load balancers for IP
// targets, and Services with a load balancer class: the AWS Load Balancer
// Controller is there for them.
//
// # What is where
//
//	config      the keys of a cloud-config, and what is wrong with one
//	identity    the region, VPC and cluster that this process works for
//	client      clients of the AWS APIs: credentials, retries, throttling, errors
//	cluster     whose a thing is, by its tags
//	inventory   the instances of the cluster
//	vpc         subnets, route tables and zones
//	request     what a Service specifies
//	classic, network, securitygroup
//	            load balancers: observe, build, diff, apply
//	change      the steps that load balancers are changed in
//	snapshot    what many Services read of network load balancers
//	tagging     the tagging controller
//
// # The way of a Service
//
//	loadbalancer.go             entry, run by service.Reconciler
//	loadbalancer_observe.go     reads load balancers, instances, subnets, groups
//	loadbalancer_build.go       decides what is wanted (pure)
//	loadbalancer_diff.go        orders the steps of one plan (pure)
//	loadbalancer_apply.go       applies the plan and reports warnings
//	loadbalancer_incomplete.go  the gaps for which it is synced again
//	loadbalancer_nodes.go       the step for the rules of nodes
//	loadbalancer_update.go      targets alone, for what this process knows
//	loadbalancer_delete.go      what is left of a Service
//
// Everything that this provider creates carries the tags of the cluster; what
// does not have them is not changed.
package aws
