// Package e2e runs the built binary as a process, as users do, against a real
// API server and simulated clouds, and proves from the outside what it promises.
//
// Each test has a control plane to itself. Each process has the rights that the chart
// grants for the same settings, no more: it is checked for requests of anything else,
// for data races, and for how it ended. A control plane is used again by a later test,
// once what the earlier one left there is deleted. `make e2e` builds what the tests need
// and runs them.
//
// Tests of installations run Helm, and the Pods that the API server has then as
// processes: see host. `make e2e-upstream` does so with the upstream controllers.
package e2e
