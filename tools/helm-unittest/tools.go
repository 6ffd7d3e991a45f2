//go:build tools

// Package tools pins the helm-unittest release that make test-chart runs. It is
// a module of its own, so that the product's go.mod never sees it.
package tools

import _ "github.com/helm-unittest/helm-unittest/cmd/helm-unittest"
