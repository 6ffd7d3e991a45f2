package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
)

// lookup returns the credentials of the first source that has any. It fails if a
// source before has a part of them: the next may be for another vCenter.
func (s *Session) lookup(ctx context.Context) (Source, Credentials, error) {
	var problems []error
	for _, source := range s.sources {
		credentials, err := s.lookupFrom(ctx, source)
		if err == nil {
			return source, credentials, nil
		}
		problems = append(problems, err)
		if hasPart(err, s.endpoint.Server) {
			break
		}
	}

	return nil, Credentials{}, fmt.Errorf("get credentials: %w", errors.Join(problems...))
}

func (s *Session) lookupFrom(ctx context.Context, source Source) (Credentials, error) {
	credentials, err := source.Lookup(ctx, s.endpoint.Server)
	if errors.Is(err, credential.ErrNotFound) {
		err = apierr.Mark(apierr.ErrDenied, fmt.Errorf("%s: %w for server %q", source, ErrNotFound, s.endpoint.Server))
	}
	if err != nil {
		return Credentials{}, err
	}

	return withToken(credentials, s.options.TokenFile)
}
