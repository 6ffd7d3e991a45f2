package session

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

const (
	defaultPort       = 443
	defaultRoundTrips = 3
)

// Endpoint is the address of a vCenter, and why it is trusted. The certificate of a
// connection must have, by the first rule that applies: nothing if Insecure; a chain
// to one of the CAs in CAFile, or to one of the system without a CAFile; if only the
// trust in that chain is missing, this Thumbprint.
type Endpoint struct {
	// Name is that of the vCenter in the cloud-config, for messages and metrics.
	// Default: Server.
	Name string
	// Server is a host name or an address, IPv6 with or without brackets.
	Server string
	// Port is the HTTPS port. Default: 443.
	Port int

	Insecure   bool
	CAFile     string
	Thumbprint string // SHA-1 or SHA-256 of the certificate in hex, colons optional

	// RoundTrips is how often a read is sent at most if the network fails.
	// Default: 3.
	RoundTrips int
}

// CheckCAFile returns why CA certificates cannot be used.
func CheckCAFile(path string) error {
	return soap.NewClient(&url.URL{}, false).SetRootCAs(path)
}

// problems returns the errors that remain until the cloud-config changes.
func (e Endpoint) problems() []error {
	var problems []error
	if e.Server == "" {
		problems = append(problems, errors.New("no server"))
	}
	if e.Port < 0 || e.Port > 65535 {
		problems = append(problems, fmt.Errorf("port %d is out of range", e.Port))
	}
	if e.RoundTrips < 0 {
		problems = append(problems, fmt.Errorf("%d round trips are out of range", e.RoundTrips))
	}
	if _, err := canonicalThumbprint(e.Thumbprint); err != nil {
		problems = append(problems, err)
	}

	return problems
}

func (e Endpoint) invalid(problems []error) error {
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("check vCenter %s: %w", e.name(), err)
	}

	return nil
}

func (e Endpoint) name() string { return cmp.Or(e.Name, e.Server) }

// hostPort is the address to dial, and the key of the thumbprint.
func (e Endpoint) hostPort() string {
	return net.JoinHostPort(e.host(), strconv.Itoa(cmp.Or(e.Port, defaultPort)))
}

// host is the server without brackets.
func (e Endpoint) host() string {
	return strings.TrimSuffix(strings.TrimPrefix(e.Server, "["), "]")
}

func (e Endpoint) url() *url.URL {
	return &url.URL{Scheme: "https", Host: e.hostPort(), Path: vim25.Path}
}

func (e Endpoint) roundTrips() int { return cmp.Or(e.RoundTrips, defaultRoundTrips) }

// canonicalThumbprint returns a fingerprint in the form that the SDK compares.
func canonicalThumbprint(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	const sha1Size, sha256Size = 20, 32
	digits := strings.ReplaceAll(strings.TrimSpace(text), ":", "")
	sum, err := hex.DecodeString(digits)
	if err != nil || (len(sum) != sha1Size && len(sum) != sha256Size) {
		return "", fmt.Errorf("thumbprint %q is neither a SHA-1 nor a SHA-256 in hex", text)
	}

	return strings.Join(lists.Map(sum, func(b byte) string { return fmt.Sprintf("%02X", b) }), ":"), nil
}
