//go:build tools

// Package tools pins the Kubernetes release whose kube-apiserver the test
// control plane runs. It is a module of its own, so that the product's go.mod
// never sees it.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
