//go:build tools

// Package tools pins the golangci-lint release that make lint runs. It is a
// module of its own, so that the product's go.mod never sees it.
package tools

import _ "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"
