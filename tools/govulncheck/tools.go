//go:build tools

// Package tools pins the release of govulncheck. It is a module of its own, so
// that the product's go.mod never sees it.
package tools

import _ "golang.org/x/vuln/cmd/govulncheck"
