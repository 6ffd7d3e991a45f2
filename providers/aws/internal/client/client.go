package client

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/drain"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// Options select the identity and the endpoints of calls to AWS. The zero value
// selects the defaults of the SDK.
type Options struct {
	// RoleARN is the role to assume for every call, with SourceARN as the
	// resource on whose behalf it is assumed.
	RoleARN, SourceARN string
	// Overrides are endpoints that replace those of AWS.
	Overrides []Override
	// Metrics count the calls. Nil counts nothing.
	Metrics *Metrics
	// Tuning is for tests.
	Tuning Tuning
	// Middleware is for tests, too: it is added to every call, after all other
	// middleware.
	Middleware []func(*middleware.Stack) error
}

// Base is the part of the clients that does not depend on the region.
type Base struct {
	options Options
	config  aws.Config
	http    *http.Client
	imds    *IMDS

	mu sync.Mutex
	// regions are the configurations of regions, which are loaded once.
	regions map[string]aws.Config
}

// Clients are the clients of one region. They are safe for concurrent use.
type Clients struct {
	Region string
	EC2    EC2
	ELB    ELB
	ELBV2  ELBV2

	sts    *sts.Client
	http   *http.Client
	owner  *owner
	writes *drain.Writes
}

// Caller returns the ARN of the identity that the credentials are of. It needs no permission.
func (c *Clients) Caller(ctx context.Context) (string, error) {
	out, err := c.sts.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return "", fmt.Errorf("get the identity of the caller: %w", err)
	}

	return aws.ToString(out.Arn), nil
}

// OwnerChanged returns when the credentials last changed to those of a possibly
// different account. It is zero if they never did.
func (c *Clients) OwnerChanged() time.Time { return c.owner.changedAt() }

// Close waits for calls under way that change something, rejects further ones with
// [drain.ErrClosed], and closes idle connections. It takes no longer than ctx.
func (c *Clients) Close(ctx context.Context) error {
	defer c.http.CloseIdleConnections()

	return c.writes.Close(ctx)
}

// LastWrite returns when the last call that changes something ended. It is zero if there
// was none.
func (c *Clients) LastWrite() time.Time { return c.writes.Last() }

// Load reads the environment and the shared configuration files. It calls no
// API.
func Load(ctx context.Context, o Options) (*Base, error) {
	o.Tuning = o.Tuning.withDefaults()
	if o.Metrics == nil {
		o.Metrics = NewMetrics(metrics.Discard())
	}
	b := &Base{options: o, regions: map[string]aws.Config{}}
	var err error
	if b.config, err = config.LoadDefaultConfig(ctx, b.settings()...); err != nil {
		return nil, fmt.Errorf("load the AWS configuration of the environment: %w", err)
	}
	b.http = share(b.config.HTTPClient, o.Tuning.Timeout)
	b.imds = b.newIMDS(true)

	return b, nil
}

// settings are the SDK settings of all regions.
func (b *Base) settings() []func(*config.LoadOptions) error {
	return []func(*config.LoadOptions) error{
		config.WithDefaultsMode(aws.DefaultsModeInRegion),
		config.WithHTTPClient(buildable(b.options.Tuning)),
		config.WithRetryer(func() aws.Retryer { return newRetryer(b.options.Tuning) }),
		config.WithLogger(logging.LoggerFunc(logSDK)),
		config.WithAPIOptions([]func(*middleware.Stack) error{
			awsmiddleware.AddUserAgentKeyValue("kubernetes", version.Get().GitVersion),
		}),
	}
}

// logSDK forwards the log messages of the SDK, for example that it falls back
// to an old version of the instance metadata.
func logSDK(class logging.Classification, format string, args ...any) {
	level := klog.Level(4)
	if class == logging.Warn {
		level = 2
	}
	klog.V(level).InfoS("Log message of the AWS SDK", "class", string(class), "text", fmt.Sprintf(format, args...))
}

// IMDS is the instance metadata service of this instance.
func (b *Base) IMDS() *IMDS { return b.imds }

// In returns the clients of a region, with their own rate limiters. All clients
// of the region share their credentials. It calls no API: the first call
// fetches the credentials.
func (b *Base) In(ctx context.Context, region string) (*Clients, error) {
	cfg, err := b.regional(ctx, region)
	if err != nil {
		return nil, err
	}
	owner := &owner{clock: b.options.Tuning.Clock}
	cfg.Credentials = credentials{cfg.Credentials, owner}
	writes := &drain.Writes{}
	stack := func(service Service) []func(*middleware.Stack) error {
		return append(b.middleware(service, newLimiters(service, b.options.Tuning), true), drainable(writes))
	}

	return &Clients{
		Region: region,
		EC2: narrow(ec2.NewFromConfig(cfg, func(o *ec2.Options) {
			o.APIOptions = append(o.APIOptions, stack(ServiceEC2)...)
			if r, ok := overridden[ec2.EndpointParameters](b.options.Overrides, ServiceEC2, region); ok {
				o.EndpointResolverV2 = r
			}
		})),
		ELB: elb.NewFromConfig(cfg, func(o *elb.Options) {
			o.APIOptions = append(o.APIOptions, stack(ServiceELB)...)
			if r, ok := overridden[elb.EndpointParameters](b.options.Overrides, ServiceELB, region); ok {
				o.EndpointResolverV2 = r
			}
		}),
		ELBV2: elbv2.NewFromConfig(cfg, func(o *elbv2.Options) {
			o.APIOptions = append(o.APIOptions, stack(ServiceELBV2)...)
			if r, ok := overridden[elbv2.EndpointParameters](b.options.Overrides, ServiceELBV2, region); ok {
				o.EndpointResolverV2 = r
			}
		}),
		sts:    b.newSTS(cfg, newLimiters(ServiceSTS, b.options.Tuning)),
		http:   b.http,
		owner:  owner,
		writes: writes,
	}, nil
}

// regional returns the configuration of all clients of a region, with credentials.
func (b *Base) regional(ctx context.Context, region string) (aws.Config, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cfg, loaded := b.regions[region]; loaded {
		return cfg, nil
	}
	cfg, err := b.load(ctx, region)
	if err == nil {
		b.regions[region] = cfg
	}

	return cfg, err
}

// load loads the configuration of all clients of a region, with credentials.
func (b *Base) load(ctx context.Context, region string) (aws.Config, error) {
	anonymous := b.config.Copy()
	anonymous.Region, anonymous.HTTPClient, anonymous.Credentials = region, b.http, aws.AnonymousCredentials{}
	anonymous.Retryer = b.pacedRetryer
	limits := newLimiters(ServiceSTS, b.options.Tuning)
	load := func(ctx context.Context) (aws.Config, error) {
		return config.LoadDefaultConfig(ctx, append(b.settings(),
			config.WithRegion(region),
			config.WithEC2RoleCredentialOptions(func(o *ec2rolecreds.Options) { o.Client = b.newIMDS(false).client }),
			config.WithWebIdentityRoleCredentialOptions(func(o *stscreds.WebIdentityRoleOptions) { o.Client = b.newSTS(anonymous, limits) }),
		)...)
	}
	cfg, err := load(ctx)
	if err != nil {
		return cfg, fmt.Errorf("load the AWS configuration for region %s: %w", region, err)
	}
	cfg.HTTPClient, cfg.Retryer = b.http, b.pacedRetryer
	cfg.Credentials = newReloading(cfg.Credentials, b.options.Tuning.FileAge, load)
	if b.options.RoleARN != "" {
		role := stscreds.NewAssumeRoleProvider(b.newSTS(cfg, limits, b.confusedDeputy()...), b.options.RoleARN)
		cfg.Credentials = aws.NewCredentialsCache(role)
	}

	return cfg, nil
}

// newSTS returns a client that gets credentials. Its errors are only seen
// through the clients that need the credentials; those classify them.
func (b *Base) newSTS(cfg aws.Config, limits *limiters, more ...func(*middleware.Stack) error) *sts.Client {
	return sts.NewFromConfig(cfg, func(o *sts.Options) {
		o.APIOptions = append(o.APIOptions, b.middleware(ServiceSTS, limits, false)...)
		o.APIOptions = append(o.APIOptions, more...)
		if r, ok := overridden[sts.EndpointParameters](b.options.Overrides, ServiceSTS, cfg.Region); ok {
			o.EndpointResolverV2 = r
		}
	})
}
