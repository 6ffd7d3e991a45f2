//go:build tools

// Package tools pins the gotestsum release that make test runs. It is a module
// of its own, so that the product's go.mod never sees it.
package tools

import _ "gotest.tools/gotestsum"
