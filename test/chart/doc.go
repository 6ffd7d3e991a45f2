// Package chart tests the Helm chart with the programs that its users run, without a
// cluster: Helm 3 and 4, helm-unittest, and schemas of each supported Kubernetes
// version. `make test-chart` builds what the tests need and runs them.
package chart
