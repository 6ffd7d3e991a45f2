package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// The limits of Neutron are in its configuration, not in quotas.
var (
	routesLimit = regexp.MustCompile(`(?m)^max_routes = .*$`)
	pairsLimit  = regexp.MustCompile(`(?m)^max_allowed_address_pair = .*$`)
)

// limits sets how many routes a router and how many address pairs a port may
// have, and restarts Neutron.
func (l *live) limits(ctx context.Context, args object) error {
	file := l.networkConfig()
	text, err := os.ReadFile(file) //nolint:gosec // a file of the services
	if err != nil {
		return err
	}
	if l.restore == nil {
		l.restore = text
	}
	text = routesLimit.ReplaceAll(text, fmt.Appendf(nil, "max_routes = %v", args["routes"]))
	text = pairsLimit.ReplaceAll(text, fmt.Appendf(nil, "max_allowed_address_pair = %v", args["address_pairs"]))

	return l.configure(ctx, text)
}

// resetLimits restores the limits that the services had.
func (l *live) resetLimits(ctx context.Context) error {
	if l.restore == nil {
		return nil
	}
	text := l.restore
	l.restore = nil

	return l.configure(ctx, text)
}

// configure writes the configuration of Neutron and restarts it.
func (l *live) configure(ctx context.Context, text []byte) error {
	if err := os.WriteFile(l.networkConfig(), text, 0o600); err != nil {
		return err
	}

	return l.control(ctx, "restart", "neutron")
}

// networkConfig is the configuration file of Neutron.
func (l *live) networkConfig() string { return filepath.Join(l.dir, "etc", "neutron.conf") }
