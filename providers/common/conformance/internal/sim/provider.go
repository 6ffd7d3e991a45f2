package sim

import (
	cloudprovider "k8s.io/cloud-provider"
)

// CloudProvider is a provider of the cloud with what a suite passes to it.
type CloudProvider struct {
	Nodes         cloudprovider.InstancesV2
	LoadBalancers cloudprovider.LoadBalancer
	RouteTable    cloudprovider.Routes
}

var _ cloudprovider.Interface = (*CloudProvider)(nil)

// Initialize implements [cloudprovider.Interface].
func (p *CloudProvider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// LoadBalancer implements [cloudprovider.Interface].
func (p *CloudProvider) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return p.LoadBalancers, p.LoadBalancers != nil
}

// Instances implements [cloudprovider.Interface].
func (p *CloudProvider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// InstancesV2 implements [cloudprovider.Interface].
func (p *CloudProvider) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return p.Nodes, p.Nodes != nil
}

// Zones implements [cloudprovider.Interface].
func (p *CloudProvider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters implements [cloudprovider.Interface].
func (p *CloudProvider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Routes implements [cloudprovider.Interface].
func (p *CloudProvider) Routes() (cloudprovider.Routes, bool) {
	return p.RouteTable, p.RouteTable != nil
}

// ProviderName implements [cloudprovider.Interface].
func (p *CloudProvider) ProviderName() string { return Provider }

// HasClusterID implements [cloudprovider.Interface].
func (p *CloudProvider) HasClusterID() bool { return true }
