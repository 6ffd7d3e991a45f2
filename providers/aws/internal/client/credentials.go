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
)

// credentialsError is why there are no credentials. It keeps the answer of a
// service that gives credentials out from being taken for one to the call that
// needed them: a role that is not found says nothing about an instance.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return e.err.Error() }

// Unwrap is for those who want to know the cause.
func (e *credentialsError) Unwrap() error { return e.err }

// credentials are those of a provider, with errors that say that they are about
// credentials.
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

func isCredentials(err error) bool {
	_, ok := errors.AsType[*credentialsError](err)

	return ok
}

// inFile begins what the SDK says of the source of keys that are in a file.
const inFile = "SharedConfigCredentials:"

// errNoKeys keeps half a file from being taken for none: the SDK then looks for
// credentials elsewhere, and this process would go on as somebody else.
var errNoKeys = errors.New("there are no AWS keys in the file any more")

// rereading gives keys that are in a file as the file has them now. The SDK reads
// it once; other kinds of credentials renew themselves.
type rereading struct {
	found aws.CredentialsProvider
	file  *aws.CredentialsCache
}

// newRereading makes a provider of what was found at first. With read the files
// are read again, at most once in an age.
func newRereading(found aws.CredentialsProvider, age time.Duration, read func(context.Context) (aws.Config, error)) rereading {
	var last aws.Credentials // the cache asks one at a time
	return rereading{found, aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
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
		default: // somebody is writing the file
			klog.FromContext(ctx).Error(err, "AWS credentials cannot be read again, keeping those that are known")
			got = last
		}
		got.CanExpire, got.Expires = true, time.Now().Add(age)
		return got, nil
	}))}
}

// Retrieve implements aws.CredentialsProvider.
func (r rereading) Retrieve(ctx context.Context) (aws.Credentials, error) {
	got, err := r.found.Retrieve(ctx)
	if err != nil || got.CanExpire || !strings.HasPrefix(got.Source, inFile) {
		return got, err
	}
	return r.file.Retrieve(ctx)
}

// confusedDeputy are the headers that let the policy of a role tell on whose
// behalf it is assumed.
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
