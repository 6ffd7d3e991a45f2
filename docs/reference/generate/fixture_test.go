package main

import "github.com/multicloud-ccm/multicloud-ccm/config"

// fixture is a cloud-config with one of everything.
type fixture struct {
	// Global is what all share.
	Global struct {
		// Provider names the provider.
		Provider string `gcfg:"provider"`
	}
	// Machine is a section for each machine.
	Machine map[string]*machine
	Limits  limits

	_ int
}

// machine is one of many. A machine has
// a price.
type machine struct {
	shared
	// Enabled turns it on. Default is off.
	Enabled bool `gcfg:"enabled"`
}

type shared struct {
	// Token is a <token> | a pass.
	Token config.Secret `gcfg:"token"`
	// Wait is how long
	// to wait.
	// Default: 30s
	Wait config.Duration `gcfg:"wait"`
	// Networks are allowed.
	Networks config.CIDRs `gcfg:"networks"`
	// Tags are free.
	// Default: none at all
	Tags config.List `gcfg:"tags"`
}

// limits bounds everything.
type limits struct {
	// QPS is the rate.
	// Default: 5
	QPS *float32 `gcfg:"qps"`
	// Untagged_Key is spelled by its field.
	Untagged_Key uint //nolint:revive // so that it has a word boundary
}

// undocumented has a key without a comment.
type undocumented struct {
	Global struct {
		Silent string `gcfg:"silent"`
	}
}
