package main

import (
	"regexp"
	"strconv"
	"strings"
)

// mutationRule makes a mistake in a line. It returns the lines in its place, and what the message suggests.
type mutationRule struct {
	name   string
	mutate func(line) (lines []string, want string, ok bool)
	after  int // how many lines after it the mistake is reported
}

// onKeys is a rule for lines with a key and a value, but not the one that selects the provider.
func onKeys(name string, mutate func(line) (text, want string)) mutationRule {
	return mutationRule{name: name, mutate: func(l line) ([]string, string, bool) {
		if l.key == "" || l.selects {
			return nil, "", false
		}
		text, want := mutate(l)

		return []string{text}, want, text != ""
	}}
}

// onHeaders is a rule for the lines of sections.
func onHeaders(name string, mutate func(line) (text, want string)) mutationRule {
	return mutationRule{name: name, mutate: func(l line) ([]string, string, bool) {
		if l.key != "" || l.text == "" {
			return nil, "", false
		}
		text, want := mutate(l)

		return []string{text}, want, text != ""
	}}
}

// onProvider is a rule for the line that selects the provider.
func onProvider(name string, mutate func(line) (text, want string)) mutationRule {
	return mutationRule{name: name, mutate: func(l line) ([]string, string, bool) {
		if !l.selects {
			return nil, "", false
		}
		text, want := mutate(l)

		return []string{text}, want, true
	}}
}

// repeats reports whether each line of the key adds a value.
func (l line) repeats() bool {
	return l.key == "NodeIPFamilies" || strings.HasSuffix(l.key, "c-network-name") || l.key == "internal-network-name"
}

func (l line) with(key, value string) string { return key + " = " + value }

func unquoted(value string) string { return strings.Trim(value, `"`) }

// transposed swaps two letters in the middle.
func transposed(name string) string {
	i := len(name) / 2

	return name[:i-1] + name[i:i+1] + name[i-1:i] + name[i+1:]
}

// shortened leaves out a letter in the middle.
func shortened(name string) string { return name[:len(name)/2] + name[len(name)/2+1:] }

// doubled has the last letter twice.
func doubled(name string) string { return name + name[len(name)-1:] }

var iniRules = []mutationRule{
	onKeys("key without a letter", func(l line) (string, string) {
		return l.with(shortened(l.key), l.value), "did you mean " + l.key + "?"
	}),
	onKeys("key with two letters swapped", func(l line) (string, string) {
		return l.with(transposed(l.key), l.value), "did you mean " + l.key + "?"
	}),
	onKeys("key with a letter too many", func(l line) (string, string) {
		return l.with(doubled(l.key), l.value), "did you mean " + l.key + "?"
	}),
	onKeys("key with underscores", func(l line) (string, string) {
		if !strings.Contains(l.key, "-") {
			return "", ""
		}

		return l.with(strings.ReplaceAll(l.key, "-", "_"), l.value), "did you mean " + l.key + "?"
	}),
	{name: "key in another section", after: 1, mutate: func(l line) ([]string, string, bool) {
		own := l.section == "LoadBalancer" || l.section == "Networking" || l.section == "Nodes" || l.section == "Route" || l.section == "ServiceOverride"
		header := "[" + l.section + "]"
		if l.sub != "" {
			header = "[" + l.section + ` "…"]`
		}

		return []string{"[Multicloud]", l.text, l.header}, "did you mean " + header + " " + l.key + "?", own && l.key != ""
	}},
	onKeys("no =", func(l line) (string, string) { return l.key + " " + l.value, "=" }),
	onKeys("colon in place of =", func(l line) (string, string) { return l.key + ": " + l.value, "=" }),
	onKeys("no value", func(l line) (string, string) {
		if l.value == "true" || l.value == "false" || l.repeats() {
			return "", "" // a key alone is true, or removes the values before it
		}

		return l.key, "needs a value"
	}),
	onKeys("value with an unquoted number sign", func(l line) (string, string) {
		return l.with(l.key, unquoted(l.value)+"#1"), "quotes"
	}),
	onKeys("value with an unquoted semicolon", func(l line) (string, string) {
		return l.with(l.key, unquoted(l.value)+";1"), "quotes"
	}),
	onKeys("value that begins with a number sign", func(l line) (string, string) {
		return l.with(l.key, "#"+unquoted(l.value)), "quotes"
	}),
	onKeys("two values side by side", func(l line) (string, string) {
		return l.with(l.key, `"`+unquoted(l.value)+`"1`), "quotes"
	}),
	onKeys("typographic quotes", func(l line) (string, string) { return l.with(l.key, "“"+unquoted(l.value)+"”"), `"` }),
	onKeys("single quotes", func(l line) (string, string) { return l.with(l.key, "'"+unquoted(l.value)+"'"), `"` }),
	onKeys("quotes that are not closed", func(l line) (string, string) {
		return l.with(l.key, `"`+unquoted(l.value)), "quote"
	}),
	onKeys("unquoted backslash", func(l line) (string, string) { return l.with(l.key, unquoted(l.value)+`\x`), `\\` }),
	onKeys("unknown escape", func(l line) (string, string) { return l.with(l.key, `"`+unquoted(l.value)+`\x"`), `\\` }),
	{name: "key twice", after: 1, mutate: func(l line) ([]string, string, bool) {
		return []string{l.text, l.text}, "line " + strconv.Itoa(l.number), l.key != "" && !l.repeats()
	}},
	{name: "section twice", after: 1, mutate: func(l line) ([]string, string, bool) {
		return []string{l.text, l.header}, "line ", l.key != ""
	}},
	onHeaders("section without a letter", func(l line) (string, string) {
		if l.section == "Global" {
			return "", ""
		}

		return strings.Replace(l.text, l.section, shortened(l.section), 1), "did you mean [" + l.section + "]?"
	}),
	onHeaders("section with a letter too many", func(l line) (string, string) {
		if l.section == "Global" {
			return "", ""
		}

		return strings.Replace(l.text, l.section, doubled(l.section), 1), "did you mean [" + l.section + "]?"
	}),
	onHeaders("section with a name", func(l line) (string, string) {
		if l.sub != "" || l.section == "Global" {
			return "", ""
		}

		return "[" + l.section + ` "main"]`, "[" + l.section + "]"
	}),
	onHeaders("section without its bracket", func(l line) (string, string) { return strings.TrimSuffix(l.text, "]"), "]" }),
	onHeaders("section without its quotes", func(l line) (string, string) {
		if l.sub == "" {
			return "", ""
		}

		return "[" + l.section + " " + l.sub + "]", `"`
	}),
	onProvider("provider mistyped", func(l line) (string, string) {
		return l.with(l.key, transposed(l.value)), `did you mean "` + l.value + `"?`
	}),
	onProvider("provider in capitals", func(l line) (string, string) {
		return l.with(l.key, strings.ToUpper(l.value)), `did you mean "` + l.value + `"?`
	}),
	onProvider("key of the provider mistyped", func(l line) (string, string) {
		return l.with(shortened(l.key), l.value), "did you mean provider?"
	}),
	onProvider("longer key of the provider", func(l line) (string, string) {
		return l.with("cloud-provider", l.value), "did you mean provider?"
	}),
	onProvider("provider without a value", func(l line) (string, string) { return l.key, "aws, openstack, vsphere" }),
	{name: "second provider", after: 1, mutate: func(l line) ([]string, string, bool) {
		return []string{l.text, l.text}, "line 2", l.selects
	}},
	{name: "section of the provider mistyped", mutate: func(l line) ([]string, string, bool) {
		return []string{"[Gobal]"}, "did you mean [Global]?", l.text == "[Global]"
	}},
	{name: "section of the provider with a name", mutate: func(l line) ([]string, string, bool) {
		return []string{`[Global "main"]`}, "[Global]", l.text == "[Global]"
	}},
	{name: "no section before the first key", after: 0, mutate: func(l line) ([]string, string, bool) {
		return nil, "[Global]", l.text == "[Global]"
	}},
}

var yamlRules = []mutationRule{
	onKeys("YAML: key without a letter", func(l line) (string, string) {
		if l.value == "" {
			return "", ""
		}

		return l.indent + shortened(l.key) + ": " + l.value, "did you mean " + l.key + "?"
	}),
	onKeys("YAML: section with two letters swapped", func(l line) (string, string) {
		if l.indent != "" || l.key == "global" {
			return "", ""
		}

		return transposed(l.key) + ":", "did you mean " + l.key + "?"
	}),
	onKeys("YAML: no space after the colon", func(l line) (string, string) {
		if l.value == "" {
			return "", ""
		}

		return l.indent + l.key + ":" + l.value, ": "
	}),
	onKeys("YAML: list in place of a value", func(l line) (string, string) {
		if l.value == "" || strings.HasPrefix(l.value, "[") {
			return "", ""
		}

		return l.indent + l.key + ": [" + l.value + "]", "plain value"
	}),
	{name: "YAML: tab", mutate: func(l line) ([]string, string, bool) {
		return []string{"\t" + strings.TrimLeft(l.text, " ")}, "space", l.indent != ""
	}},
	{name: "YAML: key twice", after: 1, mutate: func(l line) ([]string, string, bool) {
		return []string{l.text, l.text}, l.key, l.value != ""
	}},
	{name: "YAML: list in place of a section", mutate: func(l line) ([]string, string, bool) {
		return []string{l.key + ": [x]", "unused:"}, "mapping", l.indent == "" && l.key != "" && l.key != "vcenter"
	}},
	{name: "YAML: section of the provider mistyped", mutate: func(l line) ([]string, string, bool) {
		return []string{"golbal:"}, "did you mean global?", l.text == "global:"
	}},
	{name: "YAML: key of the provider mistyped", mutate: func(l line) ([]string, string, bool) {
		return []string{"  provder: vsphere"}, "did you mean provider?", l.selects
	}},
}

// badValue is a value that a key cannot have.
type badValue struct {
	section, key string
	value, want  string
}

var sharedValues = []badValue{
	{"Multicloud", "strict", "maybe", "true or false"},
	{"Controllers", "concurrent-service-syncs", "1e3", "number"},
	{"Controllers", "concurrent-service-syncs", "0", "above zero"},
	{"Controllers", "kube-api-qps", "fast", "number"},
	{"Controllers", "kube-api-burst", "99999999999", "2147483647"},
	{"Controllers", "concurrent-node-syncs", "-1", "above zero"},
	{"NodeDeletion", "limit", "-1", "negative"},
	{"LoadBalancer", "max-targets", "many", "number"},
}

var badValues = map[string][]badValue{
	"aws": {
		{"Global", "Zone", "eu-central-1", "eu-central-1a"},
		{"Global", "Zone", "eu-centrall-1a", "eu-central-1"},
		{"Global", "VPC", "my vpc", "vpc-"},
		{"Global", "SubnetID", "private", "subnet-"},
		{"Global", "RouteTableID", "main", "rtb-"},
		{"Global", "RoleARN", "role/controller", "arn:aws:iam::"},
		{"Global", "SourceARN", "cluster/demo", "arn:aws:"},
		{"Global", "DisableSecurityGroupIngress", "maybe", "true or false"},
		{"Global", "ElbSecurityGroup", "my-group", "sg-"},
		{"Global", "NodeIPFamilies", "ipv4,ipv6", "one line"},
		{"Global", "NodeIPFamilies", "ipv5", "ipv4 or ipv6"},
		{"Global", "ClusterServiceLoadBalancerHealthProbeMode", "shared", "Shared"},
		{"Global", "ClusterServiceSharedLoadBalancerHealthProbePort", "http", "1 to 65535"},
		{"Global", "ClusterServiceSharedLoadBalancerHealthProbePort", "70000", "1 to 65535"},
		{"Global", "ClusterServiceSharedLoadBalancerHealthProbePath", "healthz", "/healthz"},
		{"Global", "SupportedTopologyInstanceTypePattern", `"["`, "regular expression"},
		{"Global", "NLBSecurityGroupMode", "managed", "Managed"},
		{"ServiceOverride", "Service", "EC3", "EC2"},
		{"ServiceOverride", "Region", "eu-centrall-1", "eu-central-1"},
		{"ServiceOverride", "URL", "http://ec2.example.com", "https://"},
		{"ServiceOverride", "URL", "ec2.example.com", "https://"},
	},
	"openstack": {
		{"Global", "auth-url", "keystone.example.com", "https://"},
		{"Global", "os-endpoint-type", "internel", "internal"},
		{"Global", "tls-insecure", "yes", "true"},
		{"Networking", "ipv6-support-disabled", "maybe", "true or false"},
		{"Networking", "address-sort-order", "192.0.2.0", "192.0.2.0/"},
		{"LoadBalancer", "enabled", "maybe", "true or false"},
		{"LoadBalancer", "lb-provider", "amphra", "amphora"},
		{"LoadBalancer", "lb-method", "ROUND-ROBIN", "ROUND_ROBIN"},
		{"LoadBalancer", "floating-network-id", "public", "UUID"},
		{"LoadBalancer", "subnet-id", "private", "UUID"},
		{"LoadBalancer", "monitor-delay", "10 seconds", "30s"},
		{"LoadBalancer", "monitor-timeout", "fast", "30s"},
		{"LoadBalancer", "monitor-max-retries", "eleven", "number"},
		{"LoadBalancer", "monitor-max-retries", "11", "1 to 10"},
		{"LoadBalancer", "node-selector", `"role==x y, -"`, "label"},
		{"LoadBalancer", "max-shared-lb", "two", "number"},
		{"LoadBalancer", "container-store", "barbicann", "barbican"},
		{"LoadBalancerClass", "network-id", "internal", "UUID"},
		{"Route", "router-id", "main", "UUID"},
		{"Metadata", "request-timeout", "1 minute", "30s"},
	},
	"vsphere": {
		{"Global", "port", "https", "1 to 65535"},
		{"Global", "insecure-flag", "maybe", "true or false"},
		{"Global", "soap-roundtrip-count", "three", "number"},
		{"Global", "ip-family", "ipv5", "ipv4"},
		{"VirtualCenter", "thumbprint", "01:23", "SHA-256"},
		{"VirtualCenter", "server", "https://vc2.example.com:8443/sdk", `"vc2.example.com"`},
		{"VirtualCenter", "retired", "maybe", "true or false"},
		{"Nodes", "internal-network-subnet-cidr", "192.0.2.1/33", "10.0.0.0/8"},
		{"LoadBalancer", "size", "TINY", "SMALL"},
		{"LoadBalancer", "tier1-gateway-path", "k8s", "/infra/tier-1s/"},
		{"LoadBalancer", "tags", "team=net", `{\"team\": \"net\"}`},
		{"LoadBalancer", "udp-app-profile-path", "udp", "/infra/lb-app-profiles/udp"},
		{"LoadBalancerClass", "ip-pool-id", "/infra/ip-pools/public", "ID"},
		{"NSXT", "host", "https://nsxt.example.com", "no scheme"},
		{"NSXT", "insecure-flag", "maybe", "true or false"},
		{"Route", "router-path", "/infra/tier-0s/t0", "/infra/tier-1s/"},
	},
}

// valueRules are the rules for the values of a provider.
func valueRules(provider string) []mutationRule {
	var rules []mutationRule
	for _, v := range append(badValues[provider], sharedValues...) {
		name := regexp.MustCompile(`\s+`).ReplaceAllString("["+v.section+"] "+v.key+" = "+v.value, " ")
		rules = append(rules, onKeys(name, func(l line) (string, string) {
			if l.section != v.section || l.key != v.key {
				return "", ""
			}

			return l.with(l.key, v.value), v.want
		}))
	}

	return rules
}
