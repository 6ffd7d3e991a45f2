package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/uuid"
)

// KeyManagerService calls Barbican.
type KeyManagerService struct{ *service }

// Available returns the reason if there is no endpoint: the service is optional.
func (s *KeyManagerService) Available(ctx context.Context) error {
	_, err := s.open(ctx)

	return err
}

// parseReference returns the last two parts of a reference to a secret or a container, a
// URL such as https://barbican.example.com/v1/containers/(UUID). Only they count, as in
// the client of Barbican.
func parseReference(ref string) (kind, id string, err error) {
	u, err := url.Parse(ref)
	if err == nil {
		parts := strings.Split(strings.TrimRight(u.Path, "/"), "/")
		if n := len(parts); n >= 2 {
			kind, id = parts[n-2], parts[n-1]
		}
	}
	if (kind != "secrets" && kind != "containers") || !uuid.IsID(id) {
		return "", "", apierr.Mark(apierr.ErrInvalid, fmt.Errorf("%q does not end with secrets/ID or containers/ID", ref))
	}

	return kind, id, nil
}

// CheckReference returns an error unless a secret or a container exists and may be read.
// Its content is not requested. It proves nothing for Octavia, which reads it as another
// user. The error is an ErrInvalid for a reference of another form, an ErrNotFound if it
// does not exist and an ErrDenied for one of another project.
// https://docs.openstack.org/barbican/latest/api/reference/secrets.html.
func (s *KeyManagerService) CheckReference(ctx context.Context, ref string) error {
	kind, id, err := parseReference(ref)
	if err != nil {
		return err
	}
	client, err := s.open(ctx)
	if err != nil {
		return err
	}
	var body map[string]json.RawMessage
	if err := readJSON(ctx, client, client.ServiceURL("v1", kind, id), &body, nil); err != nil {
		return fmt.Errorf("get %s of key manager: %w", strings.TrimSuffix(kind, "s"), err)
	}
	if len(body[strings.TrimSuffix(kind, "s")+"_ref"]) == 0 {
		return apierr.Mark(apierr.ErrUnavailable, errors.New("get "+kind+" of key manager: response has no reference"))
	}

	return nil
}
