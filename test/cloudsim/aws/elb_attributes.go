package aws

import (
	"regexp"
	"slices"
	"strconv"
)

func defaultClassicAttributes() ClassicAttributes {
	return ClassicAttributes{IdleTimeout: 60, DrainingTimeout: 300, DesyncMitigation: "defensive"}
}

const desyncKey = "elb.http.desyncmitigationmode"

type lbClassicAttributesXML struct {
	LoadBalancerName string `xml:",omitempty"`
	Attributes       struct {
		CrossZoneLoadBalancing lbEnabledXML
		AccessLog              lbAccessLogXML
		ConnectionDraining     lbDrainingXML
		ConnectionSettings     lbConnectionXML
		AdditionalAttributes   []lbPairXML `xml:"AdditionalAttributes>member"`
	} `xml:"LoadBalancerAttributes"`
}

type lbEnabledXML struct {
	Enabled bool
}

type lbAccessLogXML struct {
	Enabled        bool
	EmitInterval   int32   `xml:",omitempty"`
	S3BucketName   string  `xml:",omitempty"`
	S3BucketPrefix *string `xml:",omitempty"`
}

type lbDrainingXML struct {
	Enabled bool
	Timeout int32
}

type lbConnectionXML struct {
	IdleTimeout int32
}

func (a ClassicAttributes) wire() lbClassicAttributesXML {
	var out lbClassicAttributesXML
	out.Attributes.CrossZoneLoadBalancing = lbEnabledXML{a.CrossZone}
	out.Attributes.AccessLog = lbAccessLogXML{Enabled: a.AccessLog, EmitInterval: a.AccessLogInterval, S3BucketName: a.AccessLogBucket}
	if a.AccessLogBucket != "" {
		out.Attributes.AccessLog.S3BucketPrefix = &a.AccessLogPrefix
	}
	out.Attributes.ConnectionDraining = lbDrainingXML{a.Draining, a.DrainingTimeout}
	out.Attributes.ConnectionSettings = lbConnectionXML{a.IdleTimeout}
	out.Attributes.AdditionalAttributes = []lbPairXML{{desyncKey, a.DesyncMitigation}}

	return out
}

// describeClassicAttributes implements DescribeLoadBalancerAttributes.
func (c *Cloud) describeClassicAttributes(p params) (any, error) {
	if err := p.require("LoadBalancerName"); err != nil {
		return nil, err
	}
	b := c.balancers.classics[p.str("LoadBalancerName")]
	if b == nil || !c.visible(&b.Created) {
		return nil, noClassic(p.str("LoadBalancerName"))
	}

	return b.Attributes.wire(), nil
}

// modifyClassicAttributes implements ModifyLoadBalancerAttributes. Groups of
// attributes that were not sent stay as they are.
func (c *Cloud) modifyClassicAttributes(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	attributes := b.Attributes
	p = p.sub("LoadBalancerAttributes")
	for _, set := range []func(params) error{attributes.setCrossZone, attributes.setAccessLog, attributes.setConnections, attributes.setAdditional} {
		if err := set(p); err != nil {
			return nil, err
		}
	}
	b.Attributes = attributes
	out := attributes.wire()
	out.LoadBalancerName = b.Name

	return out, nil
}

// enabled returns the switch of a group of attributes, which has to be there.
func enabled(p params, group string) (bool, error) {
	if err := p.require(group + ".Enabled"); err != nil {
		return false, err
	}
	on, err := p.bool(group + ".Enabled")
	if err != nil {
		return false, err
	}

	return *on, nil
}

func (a *ClassicAttributes) setCrossZone(p params) error {
	if !p.has("CrossZoneLoadBalancing") {
		return nil
	}
	var err error
	a.CrossZone, err = enabled(p, "CrossZoneLoadBalancing")

	return err
}

func (a *ClassicAttributes) setAccessLog(p params) error {
	if !p.has("AccessLog") {
		return nil
	}
	var err error
	if a.AccessLog, err = enabled(p, "AccessLog"); err != nil {
		return err
	}
	p = p.sub("AccessLog")
	byDefault := a.AccessLogInterval
	if a.AccessLog && byDefault == 0 {
		byDefault = 60
	}
	if a.AccessLogInterval, err = number(p, "EmitInterval", byDefault, 0, 60); err != nil {
		return err
	}
	if p.has("EmitInterval") && a.AccessLogInterval != 5 && a.AccessLogInterval != 60 {
		return invalid("EmitInterval must be 5 or 60 minutes, not %d", a.AccessLogInterval)
	}
	a.AccessLogBucket, a.AccessLogPrefix = p.str("S3BucketName"), p.str("S3BucketPrefix")
	if a.AccessLog && a.AccessLogBucket == "" {
		return invalid("S3BucketName must be specified when access logs are enabled")
	}

	return nil
}

func (a *ClassicAttributes) setConnections(p params) error {
	var err error
	if p.has("ConnectionDraining") {
		if a.Draining, err = enabled(p, "ConnectionDraining"); err != nil {
			return err
		}
		if a.DrainingTimeout, err = number(p, "ConnectionDraining.Timeout", a.DrainingTimeout, 1, 3600); err != nil {
			return err
		}
	}
	if p.has("ConnectionSettings") {
		if err := p.require("ConnectionSettings.IdleTimeout"); err != nil {
			return err
		}
		a.IdleTimeout, err = number(p, "ConnectionSettings.IdleTimeout", a.IdleTimeout, 1, 4000)
	}

	return err
}

func (a *ClassicAttributes) setAdditional(p params) error {
	for _, attribute := range p.structs("AdditionalAttributes.member") {
		key, value := attribute.str("Key"), attribute.str("Value")
		if key != desyncKey || !slices.Contains([]string{"monitor", "defensive", "strictest"}, value) {
			return fail("LoadBalancerAttributeNotFound", "The attribute '%s' with value '%s' is not supported", key, value)
		}
		a.DesyncMitigation = value
	}

	return nil
}

var probeTarget = regexp.MustCompile(`^(?:(?:TCP|SSL):(\d{1,5})|(?:HTTP|HTTPS):(\d{1,5})/.*)$`)

// configureHealthCheck implements ConfigureHealthCheck.
func (c *Cloud) configureHealthCheck(p params) (any, error) {
	b, err := c.classicOf(p)
	if err != nil {
		return nil, err
	}
	p = p.sub("HealthCheck")
	if err := p.require("Target", "Interval", "Timeout", "HealthyThreshold", "UnhealthyThreshold"); err != nil {
		return nil, err
	}
	check := ClassicHealthCheck{Target: p.str("Target")}
	if _, err := probePort(check.Target); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name      string
		low, high int32
		into      *int32
	}{
		{"Interval", 5, 300, &check.Interval},
		{"Timeout", 2, 60, &check.Timeout},
		{"HealthyThreshold", 2, 10, &check.HealthyThreshold},
		{"UnhealthyThreshold", 2, 10, &check.UnhealthyThreshold},
	} {
		if *f.into, err = number(p, f.name, 0, f.low, f.high); err != nil {
			return nil, err
		}
	}
	if check.Timeout >= check.Interval {
		return nil, invalid("HealthCheck timeout must be less than interval")
	}
	b.HealthCheck = check

	return lbConfiguredXML{check}, nil
}

// probePort returns the port of a health check's target.
func probePort(target string) (int32, error) {
	match := probeTarget.FindStringSubmatch(target)
	if match == nil {
		return 0, invalid("HealthCheck Target must begin with one of HTTP, TCP, HTTPS, SSL and a port, and have a path exactly for HTTP and HTTPS: %s", target)
	}
	port, err := strconv.Atoi(match[1] + match[2])
	if err != nil || port < 1 || port > 65535 {
		return 0, invalid("HealthCheck port must be between 1 and 65535: %s", target)
	}

	return int32(port), nil //nolint:gosec // checked above
}
