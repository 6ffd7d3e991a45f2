// Package alerts tests the alerts and the dashboard of the chart with the packages of
// Prometheus, in a module of its own. The alerts are those of the file that the chart
// renders: its template changes no expression.
package alerts
