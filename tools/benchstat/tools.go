//go:build tools

// Package tools pins the benchstat release that compares benchmark runs. It is
// a module of its own, so that the product's go.mod never sees it.
package tools

import _ "golang.org/x/perf/cmd/benchstat"
