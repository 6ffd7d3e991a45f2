package aws

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
)

// apis are the services that a name in a file means, by the name in lower case.
// Those with an empty list are known and not called by this provider.
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

// exact is how exactly a name matches a service: most exactly by the name that
// has always counted, least by one that means several. Files that were made for
// several versions of the controller have more than one.
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

// collectOverrides checks the sections and makes of them what clients take.
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

// services makes one override for each service that a section means.
func (r *resolver) services(section string, o *ServiceOverride) []written {
	services, known := apis[strings.ToLower(o.Service)]
	if !known {
		r.Warnf(overrideName(section, "Service"), "%q is no service that this provider calls: %s is ignored",
			o.Service, overrideName(section, ""))
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

// checkOverride reports whether a section has all that it needs.
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
	return len(r.Problems) == before
}

// checkURL returns what is wrong with an endpoint.
func checkURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return fmt.Errorf("%q is not a URL such as https://ec2.example.com", text)
	}
	return nil
}

// place is what an override is for. The instance metadata is the same in every
// region.
func (w written) place() [2]string {
	if w.Service == client.ServiceIMDS {
		return [2]string{string(w.Service)}
	}
	return [2]string{string(w.Service), w.Region}
}

// mostExact keeps for each service and region what names it most exactly, that
// of the first section where several do, and warns of sections that are left
// with nothing to say.
func (r *resolver) mostExact(all []written) []client.Override {
	slices.SortStableFunc(all, func(a, b written) int { return cmp.Compare(b.exact, a.exact) })
	var kept []client.Override
	winners, winning := map[[2]string]string{}, map[string]bool{}
	for _, w := range all {
		if winners[w.place()] == "" {
			winners[w.place()], winning[w.section] = w.section, true
			kept = append(kept, w.Override)
		}
	}
	for _, w := range all {
		if winning[w.section] {
			continue
		}
		winning[w.section] = true // one warning will do
		r.Problems.Warnf(r.At(overrideName(w.section, "Service")), "%s is ignored: %s says it for %s",
			overrideName(w.section, ""), overrideName(winners[w.place()], ""), w.Service)
	}
	return kept
}
