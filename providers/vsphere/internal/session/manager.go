package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	managerTimeout  = 5 * time.Second
	managerMaxBytes = 1 << 20
	// serviceAccountToken has the token for a session manager if none is configured.
	serviceAccountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"
)

// fetchTicket returns the ticket of a session to clone from a session manager.
func fetchTicket(ctx context.Context, credentials Credentials, count countFunc) (string, error) {
	if strings.TrimSpace(credentials.ManagerURL) == "" {
		return "", apierr.Mark(apierr.ErrDenied, errors.New("vc session manager URL is empty"))
	}
	ctx, cancel := context.WithTimeout(ctx, managerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(credentials.ManagerURL), http.NoBody)
	if err != nil {
		return "", apierr.Mark(apierr.ErrDenied, errors.New("vc session manager URL is malformed"))
	}
	req.Header.Set("Authorization", "Bearer "+credentials.ManagerToken.Reveal())
	client := http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
	}
	done := count(serviceManager, http.MethodGet)
	ticket, err := readTicket(client.Do(req))
	err = classify(err)
	done(err)

	return ticket, err
}

// readTicket returns the ticket in a response.
func readTicket(res *http.Response, err error) (string, error) {
	if err != nil {
		if call, ok := errors.AsType[*url.Error](err); ok {
			call.URL = redactURL(call.URL)
		}

		return "", fmt.Errorf("call vc session manager: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // read only
	if res.StatusCode != http.StatusOK {
		meaning := meaningOfREST(res.StatusCode)
		if res.StatusCode == http.StatusNotFound {
			meaning = apierr.ErrUnavailable
		}

		return "", apierr.Mark(meaning, fmt.Errorf("invalid vc session manager response: %s", res.Status))
	}
	var ticket struct {
		Token string `json:"token"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, managerMaxBytes)).Decode(&ticket); err != nil {
		// The cause might quote what it could not decode.
		return "", apierr.Mark(apierr.ErrUnavailable, errors.New("decode vc session manager response: not JSON with a token"))
	}
	if ticket.Token == "" {
		return "", apierr.Mark(apierr.ErrUnavailable, errors.New("vc session manager returned an empty token"))
	}

	return ticket.Token, nil
}

// withToken returns the credentials with the token of the pod's service account, if they
// have none for their session manager. The file is read each time, since its content
// is replaced before it expires.
func withToken(credentials Credentials, file string) (Credentials, error) {
	if !credentials.shared() || credentials.ManagerToken != "" {
		return credentials, nil
	}
	token, err := os.ReadFile(file)
	if err != nil {
		return Credentials{}, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("read token for vc session manager: %w", err))
	}
	credentials.ManagerToken = config.Secret(strings.TrimSpace(string(token)))

	return credentials, nil
}
