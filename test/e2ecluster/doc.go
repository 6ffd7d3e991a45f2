// Package e2ecluster has the tests of the chart and the image on a real node: a kubelet and a
// container runtime that run the image of make image as the Pod of the chart. The cloud alone is
// simulated. They need the build tag e2ecluster and a cluster; make e2e-cluster runs them, and
// docs/explanation/real-node.md has the results of a run.
package e2ecluster
