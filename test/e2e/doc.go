// Package e2e runs the built binary as a process, as users do, against a real
// API server and simulated clouds, and proves from the outside what it promises.
//
// Each test has a control plane of its own and the rights of rbac.yaml, no
// more: every process is checked for having asked for anything else, for data
// races, and for how it ended. `make e2e` builds what the tests need and runs
// them.
package e2e
