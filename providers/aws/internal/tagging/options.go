package tagging

import (
	"crypto/md5" //nolint:gosec // a fingerprint that existing Nodes carry, not a secret
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Name is the name of the controller in --controllers.
const Name = "tagging"

// instances is the only kind of resource that can be tagged.
const instances = "instance"

// maxTags is how many tags a resource can have:
// docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html, "Tag restrictions".
const maxTags = 50

// The flags of the controller.
const (
	flagTags       = "tags"
	flagResources  = "resources"
	flagRateLimit  = "tagging-controller-rate-limit"
	flagBurstLimit = "tagging-controller-burst-limit"
	flagSyncs      = "tagging-controller-concurrent-node-syncs"
	flagBatching   = "tagging-controller-enable-batching"
)

// Options are the settings of the command line.
type Options struct {
	Tags      map[string]string
	Resources []string
	// RateLimit is the number of Nodes processed per second, and BurstLimit the
	// maximum burst. They take effect only together.
	RateLimit           float64
	BurstLimit          int
	ConcurrentNodeSyncs int
	// Batching combines several instances in one call.
	Batching bool
}

// AddFlags adds the flags with their defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringToStringVar(&o.Tags, flagTags, nil, "Tags that the tagging controller adds to resources, as key=value,key=value. Required if the tagging controller is enabled.")
	flags.StringArrayVar(&o.Resources, flagResources, nil, "Resource types to tag. The only supported value is instance. Required if the tagging controller is enabled.")
	flags.Float64Var(&o.RateLimit, flagRateLimit, 0, "Maximum number of Nodes that the tagging controller processes per second; 0 means no limit. Takes effect only together with --"+flagBurstLimit+".")
	flags.IntVar(&o.BurstLimit, flagBurstLimit, 0, "Maximum burst of Nodes that the tagging controller processes. Takes effect only together with --"+flagRateLimit+".")
	flags.IntVar(&o.ConcurrentNodeSyncs, flagSyncs, 1, "Number of Nodes that the tagging controller processes concurrently.")
	flags.BoolVar(&o.Batching, flagBatching, false, "Combine instances that are processed concurrently in one call. Use it together with --"+flagSyncs+".")
}

// validate validates the options of an enabled controller. It reports all
// errors at once.
func (o *Options) validate() error {
	var errs []error
	if len(o.Tags) == 0 {
		errs = append(errs, fmt.Errorf("--%s is required by the %s controller", flagTags, Name))
	}
	if len(o.Tags) > maxTags {
		errs = append(errs, fmt.Errorf("--%s: %d tags, a resource has at most %d", flagTags, len(o.Tags), maxTags))
	}
	for _, key := range slices.Sorted(maps.Keys(o.Tags)) {
		errs = append(errs, validateTag(key, o.Tags[key]))
	}
	if len(o.Resources) == 0 {
		errs = append(errs, fmt.Errorf("--%s is required by the %s controller: the only kind is %q", flagResources, Name, instances))
	}
	for _, kind := range o.Resources {
		if kind != instances {
			errs = append(errs, fmt.Errorf("--%s=%s: the only kind is %q", flagResources, kind, instances))
		}
	}
	if o.RateLimit < 0 {
		errs = append(errs, fmt.Errorf("--%s=%v: must not be negative", flagRateLimit, o.RateLimit))
	}
	if o.BurstLimit < 0 {
		errs = append(errs, fmt.Errorf("--%s=%d: must not be negative", flagBurstLimit, o.BurstLimit))
	}
	if o.ConcurrentNodeSyncs < 1 {
		errs = append(errs, fmt.Errorf("--%s=%d: must be at least 1", flagSyncs, o.ConcurrentNodeSyncs))
	}

	return errors.Join(errs...)
}

// validateTag checks what EC2 would reject for every instance.
func validateTag(key, value string) error {
	const maxKey, maxValue = 128, 256
	switch {
	case key == "":
		return fmt.Errorf("--%s: a tag needs a key", flagTags)
	case strings.HasPrefix(strings.ToLower(key), "aws:"):
		return fmt.Errorf("--%s: %q: keys that begin with aws: are reserved", flagTags, key)
	case len([]rune(key)) > maxKey:
		return fmt.Errorf("--%s: %q: a key has at most %d characters", flagTags, key, maxKey)
	case len([]rune(value)) > maxValue:
		return fmt.Errorf("--%s: %q: a value has at most %d characters", flagTags, key, maxValue)
	}

	return nil
}

// fingerprint returns the value of the label on a Node whose instance has the
// tags.
func fingerprint(tags map[string]string) string {
	list := make([]string, 0, len(tags))
	for key, value := range tags {
		list = append(list, key+"="+value)
	}
	slices.Sort(list)                               // not the keys alone: "a-b=" comes before "a="
	sum := md5.Sum([]byte(strings.Join(list, ","))) //nolint:gosec // see the import

	return hex.EncodeToString(sum[:])
}
