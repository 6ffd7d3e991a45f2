package aws

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
)

// apis maps a name in a file, in lower case, to services. An empty list means
// that the service exists but this provider does not call it.
var apis = map[string][]client.Service{
	"ec2":                       {client.ServiceEC2},
	"elastic load balancing":    {client.ServiceELB},
	"elastic load balancing v2": {client.ServiceELBV2},
	"elasticloadbalancing":      {client.ServiceELB, client.ServiceELBV2},
	"elasticloadbalancingv2":    {client.ServiceELBV2},
	"sts":                       {client.ServiceSTS},
	"ec2imds":                   {client.ServiceIMDS},
	"kms":                       {},
}

// exact is the precision of a name: highest for the primary name of a service,
// lowest for a name of several services. Files for several versions of the
// controller use more than one name.
func exact(name string, service client.Service) int {
	switch {
	case name == string(service):
		return 2
	case len(apis[strings.ToLower(name)]) == 1:
		return 1
	default:
		return 0
	}
}

// written is an override for one service, with its section.
type written struct {
	client.Override
	section string
	exact   int
}

// collectOverrides validates the sections and converts them to overrides of
// clients.
func (r *resolver) collectOverrides() {
	var all []written
	first := map[[2]string]string{}
	for _, section := range slices.Sorted(maps.Keys(r.config.ServiceOverride)) {
		o := r.config.ServiceOverride[section]
		o.trim()
		if !r.checkOverride(section, o) {
			continue
		}
		same := [2]string{o.Service, o.Region}
		if other, twice := first[same]; twice {
			r.Problems.Errorf(r.At(overrideName(section, "Service")), "%s: %s has an endpoint for %s in %s already",
				overrideName(section, ""), overrideName(other, ""), o.Service, o.Region)

			continue
		}
		first[same] = section
		all = append(all, r.services(section, o)...)
	}
	r.config.overrides = r.mostExact(all)
}

// services returns one override for each service of a section.
func (r *resolver) services(section string, o *ServiceOverride) []written {
	services, known := apis[strings.ToLower(o.Service)]
	names := []string{string(client.ServiceEC2), string(client.ServiceELB), string(client.ServiceELBV2), string(client.ServiceSTS), string(client.ServiceIMDS)}
	if !known {
		near := ""
		if name := config.Nearest(o.Service, names...); name != "" {
			near = fmt.Sprintf(", did you mean %s?", name)
		}
		r.Warnf(overrideName(section, "Service"), "%q is no service that this provider calls: %s is ignored%s",
			o.Service, overrideName(section, ""), near)
	}
	list := make([]written, len(services))
	for i, service := range services {
		list[i] = written{section: section, exact: exact(o.Service, service), Override: client.Override{
			Service: service, Region: o.Region, URL: o.URL, SigningRegion: o.SigningRegion, SigningName: o.SigningName,
		}}
	}

	return list
}

func overrideName(section, key string) config.Name {
	return config.Name{Section: "ServiceOverride", Sub: section, Key: key}
}

func (o *ServiceOverride) trim() {
	for _, field := range []*string{&o.Service, &o.Region, &o.URL, &o.SigningRegion, &o.SigningName} {
		*field = strings.TrimSpace(*field)
	}
}

// checkOverride reports whether a section is complete and valid.
func (r *resolver) checkOverride(section string, o *ServiceOverride) bool {
	before := len(r.Problems)
	for _, required := range []struct{ key, value string }{
		{"Service", o.Service}, {"Region", o.Region}, {"URL", o.URL}, {"SigningRegion", o.SigningRegion},
	} {
		if required.value == "" {
			r.Errorf(overrideName(section, required.key), "needs a value")
		}
	}
	if o.URL != "" {
		if err := checkURL(o.URL); err != nil {
			r.Errorf(overrideName(section, "URL"), "%v", err)
		}
	}
	complete := len(r.Problems) == before
	r.checkEndpoint(section, o)

	return complete
}

// checkEndpoint warns of an endpoint that gets credentials in plain text, or that no region has. The instance metadata
// has neither.
func (r *resolver) checkEndpoint(section string, o *ServiceOverride) {
	if slices.Contains(apis[strings.ToLower(o.Service)], client.ServiceIMDS) {
		return
	}
	if endpoint, err := url.Parse(o.URL); err == nil && endpoint.Scheme == "http" && !isLoopback(endpoint.Hostname()) {
		r.Warnf(overrideName(section, "URL"), "requests have credentials, which http does not encrypt: use https://")
	}
	if own := r.config.Global.Region; own != "" && own != o.Region && regionProblem(o.Region) != "" {
		r.Warnf(overrideName(section, "Region"), "%s", regionProblem(o.Region))
	}
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)

	return err == nil && addr.IsLoopback() || host == "localhost"
}

// checkURL returns an error if an endpoint is not valid.
func checkURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return fmt.Errorf("%q is not a URL such as https://ec2.example.com", config.RedactURLs(text))
	}

	return nil
}

// target is the service and region of an override. The instance metadata is the
// same in every region.
func (w written) target() [2]string {
	if w.Service == client.ServiceIMDS {
		return [2]string{string(w.Service)}
	}

	return [2]string{string(w.Service), w.Region}
}

// mostExact keeps the most precise override for each service and region, the
// one of the first section if there are several, and warns of sections that are
// unused.
func (r *resolver) mostExact(all []written) []client.Override {
	slices.SortStableFunc(all, func(a, b written) int { return cmp.Compare(b.exact, a.exact) })
	var kept []client.Override
	winners, winning := map[[2]string]string{}, map[string]bool{}
	for _, w := range all {
		if winners[w.target()] == "" {
			winners[w.target()], winning[w.section] = w.section, true
			kept = append(kept, w.Override)
		}
	}
	for _, w := range all {
		if winning[w.section] {
			continue
		}
		winning[w.section] = true // one warning will do
		r.Problems.Warnf(r.At(overrideName(w.section, "Service")), "%s is ignored: %s sets it for %s",
			overrideName(w.section, ""), overrideName(winners[w.target()], ""), w.Service)
	}

	return kept
}
