package client

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
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
type credentials struct{ provider aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (c credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	got, err := c.provider.Retrieve(ctx)
	if err != nil {
		return got, &credentialsError{err}
	}

	return got, nil
}

func isCredentials(err error) bool {
	_, ok := errors.AsType[*credentialsError](err)

	return ok
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
