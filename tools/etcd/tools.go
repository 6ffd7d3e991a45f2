//go:build tools

// Package tools pins the etcd release that the test control plane runs. It is
// a module of its own, so that the product's go.mod never sees it.
package tools

import _ "go.etcd.io/etcd/server/v3"
