package client

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// credentialsError means that there are no credentials. It distinguishes an
// error of the service that issues credentials from an error of the call that
// needed them: if a role is not found, that does not mean that an instance is
// not found.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *credentialsError) Unwrap() error { return e.err }

// credentials wraps a provider and returns its errors as credentialsErrors.
type credentials struct {
	provider aws.CredentialsProvider
	owner    *owner
}

// Retrieve implements aws.CredentialsProvider.
func (c credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	got, err := c.provider.Retrieve(ctx)
	if err != nil {
		return got, &credentialsError{err}
	}
	c.owner.note(got)

	return got, nil
}

func isCredentials(err error) bool { return apierr.Has[*credentialsError](err) }

// inFile is the prefix of the SDK's source name for keys in a file.
const inFile = "SharedConfigCredentials:"

// errNoKeys means that a file contains no keys, for example because it is being
// written. The SDK then falls back to other sources of credentials, possibly of
// another account.
var errNoKeys = errors.New("there are no AWS keys in the file any more")

// reloading returns the current keys of a file. The SDK reads it only once;
// other kinds of credentials renew themselves. Package credential is not used
// here: only the SDK has the list and the formats of the files.
type reloading struct {
	found aws.CredentialsProvider
	file  *aws.CredentialsCache
}

// newReloading returns a provider that starts with the credentials that were
// found first. The function read reads the files again, at most once per age.
func newReloading(found aws.CredentialsProvider, age time.Duration, read func(context.Context) (aws.Config, error)) reloading {
	var last aws.Credentials // the cache makes one call at a time

	return reloading{found, aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
		cfg, err := read(ctx)
		var got aws.Credentials
		if err == nil {
			got, err = cfg.Credentials.Retrieve(ctx)
		}
		if err == nil && !strings.HasPrefix(got.Source, inFile) {
			err = errNoKeys
		}
		switch {
		case err == nil:
			last = got
		case !last.HasKeys():
			return got, err
		default: // the file may be incomplete
			klog.FromContext(ctx).Error(err, "AWS credentials cannot be read again, keeping the current ones")
			got = last
		}
		got.CanExpire, got.Expires = true, time.Now().Add(age)

		return got, nil
	}))}
}

// Retrieve implements aws.CredentialsProvider.
func (r reloading) Retrieve(ctx context.Context) (aws.Credentials, error) {
	got, err := r.found.Retrieve(ctx)
	if err != nil || got.CanExpire || !strings.HasPrefix(got.Source, inFile) {
		return got, err
	}

	return r.file.Retrieve(ctx)
}

// confusedDeputy returns the headers by which the policy of a role can restrict
// the account and resource that it is assumed for.
func (b *Base) confusedDeputy() []func(*middleware.Stack) error {
	var headers []func(*middleware.Stack) error
	if role, err := arn.Parse(b.options.RoleARN); err == nil {
		headers = append(headers, smithyhttp.SetHeaderValue("x-amz-source-account", role.AccountID))
	}
	if b.options.SourceARN != "" {
		headers = append(headers, smithyhttp.SetHeaderValue("x-amz-source-arn", b.options.SourceARN))
	}

	return headers
}
