package provider

import (
	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// Reference is what the generated reference pages contain about a provider.
type Reference struct {
	// Config is a pointer to the struct that the provider decodes a
	// cloud-config into. The comments on it and its fields become the text.
	Config any
	// Schema is what the provider decodes a cloud-config with.
	Schema config.Schema
	// YAML means that the provider's cloud-configs can be YAML, too.
	YAML bool
	// Environment lists the environment variables that count, in the order
	// they are shown.
	Environment []Variable
	// Annotations is the import path of the package whose constants of type
	// annotation.Name are the annotations on Services that count. The comments
	// on them become the text. Empty means that there are none.
	Annotations string
	// Metrics lists the metrics of the provider's own, beside those that all
	// providers have.
	Metrics []metrics.Metric
}

// Variable is an environment variable.
type Variable struct {
	Name string
	// Sets is the key that takes the value of the variable. It is zero where
	// Help describes what the variable does.
	Sets config.Name
	Help string
}
