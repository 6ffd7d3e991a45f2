package client

import (
	"context"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithyauth "github.com/aws/smithy-go/auth"
	smithyendpoints "github.com/aws/smithy-go/endpoints"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Service is the SDK's name of an AWS API.
type Service string

// The services that are called.
const (
	ServiceEC2   Service = ec2.ServiceID
	ServiceELB   Service = elb.ServiceID
	ServiceELBV2 Service = elbv2.ServiceID
	ServiceSTS   Service = sts.ServiceID
	ServiceIMDS  Service = imds.ServiceID
)

// Override is an endpoint that replaces the one of AWS and the one of the
// environment.
type Override struct {
	Service Service
	// Region is the region of the endpoint. The one of the instance metadata
	// applies to all regions.
	Region string
	URL    string
	// SigningRegion and SigningName are the region and service name that
	// requests are signed for; empty selects the defaults of the service.
	SigningRegion, SigningName string
}

// find returns the override for a service in a region.
func find(overrides []Override, service Service, region string) (Override, bool) {
	for _, o := range overrides {
		if o.Service == service && (o.Region == region || service == ServiceIMDS) {
			return o, true
		}
	}

	return Override{}, false
}

// resolver resolves every endpoint of a service to the same URL, regardless of
// the parameters.
type resolver[Parameters any] struct{ override Override }

// overridden returns the resolver for a service that has an override.
func overridden[Parameters any](overrides []Override, service Service, region string) (resolver[Parameters], bool) {
	o, ok := find(overrides, service, region)

	return resolver[Parameters]{o}, ok
}

// ResolveEndpoint returns the endpoint of the override.
func (r resolver[Parameters]) ResolveEndpoint(context.Context, Parameters) (smithyendpoints.Endpoint, error) {
	address, err := url.Parse(r.override.URL)
	if err != nil {
		return smithyendpoints.Endpoint{}, err
	}
	signing := smithyauth.Option{SchemeID: smithyauth.SchemeIDSigV4}
	if r.override.SigningRegion != "" {
		smithyhttp.SetSigV4SigningRegion(&signing.SignerProperties, r.override.SigningRegion)
	}
	if r.override.SigningName != "" {
		smithyhttp.SetSigV4SigningName(&signing.SignerProperties, r.override.SigningName)
	}
	endpoint := smithyendpoints.Endpoint{URI: *address}
	smithyauth.SetAuthOptions(&endpoint.Properties, []*smithyauth.Option{&signing})

	return endpoint, nil
}
