// Package aws is the cloud provider for clusters on Amazon EC2.
//
// What it does: it initializes Nodes (provider ID, addresses of both families,
// instance type, zone, region, network topology), including those of Fargate,
// taints Nodes whose instance is stopped, and reports instances as gone when
// they are terminated, so that their Nodes are deleted; it creates classic and
// network load balancers for Services, and routes to the pod networks of Nodes.
// If enabled, it tags the instances of Nodes.
//
// What it does not do: application load balancers, load balancers for IP
// targets, and Services with a load balancer class. Use the AWS Load Balancer
// Controller for them.
//
// # Packages
//
//	config      the keys of a cloud-config, and their validation
//	identity    the region, VPC and cluster of this process
//	client      clients of the AWS APIs: credentials, retries, throttling, errors
//	cluster     ownership of resources, by their tags
//	inventory   the instances of the cluster
//	nodes       what finds and describes the instances of Nodes
//	vpc         subnets, route tables and zones
//	routes      routes to the pod networks of Nodes
//	request     the desired load balancer of a Service
//	classic, network, securitygroup
//	            load balancers: observe, build, diff, apply
//	change      the steps of changes to load balancers
//	snapshot    shared reads of network load balancers
//	tagging     the tagging controller
//
// # Processing of a Service
//
//	loadbalancer.go             entry points, run by service.Reconciler
//	loadbalancer_observe.go     reads load balancers, instances, subnets, groups
//	loadbalancer_build.go       builds the desired state (pure)
//	loadbalancer_diff.go        orders the steps of one plan (pure)
//	loadbalancer_apply.go       applies the plan and reports warnings
//	loadbalancer_incomplete.go  the gaps that cause another sync
//	loadbalancer_nodes.go       the step for the rules of nodes
//	loadbalancer_update.go      updates only targets, if the state is stored
//	loadbalancer_delete.go      deletion
//
// Every resource that this provider creates has the tags of the cluster.
// Resources without them are not changed.
package aws
