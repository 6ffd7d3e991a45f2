package nsx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
)

const (
	// tokenHeader has the access token of a call.
	tokenHeader = "Csp-Auth-Token"
	// maxTokenBody is how many bytes the response with a token may have.
	maxTokenBody = 1 << 20
)

// Token authenticates by an access token of VMware Cloud, which is exchanged for a refresh
// token. It must be made by [NewToken].
type Token struct {
	url     string
	refresh config.Secret
	http    *http.Client
	clock   clock.PassiveClock

	// lock is held while the token is read or exchanged.
	lock    chan struct{}
	access  config.Secret
	renewAt time.Time
	expires time.Time
	refused time.Time // when the manager last refused one
	backoff login.Backoff
}

// tokenDelays are those after failed exchanges, and after new tokens that the manager
// refused.
func tokenDelays() []time.Duration {
	return []time.Duration{time.Second, 10 * time.Second, time.Minute}
}

// NewToken returns the authentication with a refresh token. The host is that of VMware
// Cloud Services, with its path.
func NewToken(host string, refresh config.Secret, via http.RoundTripper) *Token {
	return &Token{
		url: "https://" + host, refresh: refresh, lock: make(chan struct{}, 1), clock: clock.RealClock{},
		http: &http.Client{Transport: via, Timeout: callTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

func (t *Token) authorize(ctx context.Context, header http.Header) (func(error) bool, error) {
	access, err := t.current(ctx)
	if err != nil {
		return nil, err
	}
	header.Set(tokenHeader, access.Reveal())

	return func(err error) bool {
		if !errors.Is(err, ErrLogin) {
			return false
		}
		t.lock <- struct{}{}
		defer func() { <-t.lock }()
		if t.access == access {
			now := t.clock.Now()
			if now.Sub(t.refused) < time.Minute { // another one will be refused, too
				t.backoff.Fail(now, tokenDelays(), err)
			}
			t.access, t.refused = "", now
		}

		return true
	}, nil
}

// current returns the access token. It is exchanged if there is none, or 80 % of its
// lifetime are over. If that fails, it is used for the rest.
func (t *Token) current(ctx context.Context) (config.Secret, error) {
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if t.access != "" && t.clock.Now().Before(t.renewAt) {
		return t.access, nil
	}
	if err := t.renew(ctx); err != nil && (t.access == "" || !t.clock.Now().Before(t.expires)) {
		return "", err
	}

	return t.access, nil
}

// renew exchanges the access token, unless that failed a moment ago. It is called with the
// lock held.
func (t *Token) renew(ctx context.Context) error {
	if err := t.backoff.Err(t.clock.Now()); err != nil {
		return err
	}
	access, lifetime, err := t.exchange(ctx)
	now := t.clock.Now()
	if err != nil {
		if ctx.Err() == nil {
			t.backoff.Fail(now, tokenDelays(), err)
		}

		return err
	}
	if t.access != "" {
		t.backoff = login.Backoff{} // the manager has accepted the former one
	}
	t.access, t.renewAt, t.expires = access, now.Add(lifetime*8/10), now.Add(lifetime)

	return nil
}

// exchange gets an access token.
func (t *Token) exchange(ctx context.Context) (access config.Secret, lifetime time.Duration, err error) {
	form := url.Values{"refresh_token": {t.refresh.Reveal()}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, apierr.Mark(apierr.ErrInvalid, errors.New("the host of VMware Cloud Services is not a host name with a path"))
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := t.http.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}

		return "", 0, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("exchange token of VMware Cloud: %w", err))
	}
	defer res.Body.Close() //nolint:errcheck // read only
	if res.StatusCode != http.StatusOK {
		return "", 0, apierr.Mark(exchangeMeaning(res.StatusCode), fmt.Errorf("exchange token of VMware Cloud: %s", res.Status))
	}
	var content struct {
		Access  config.Secret   `json:"access_token"`
		Expires json.RawMessage `json:"expires_in"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxTokenBody)).Decode(&content); err != nil || content.Access == "" {
		return "", 0, apierr.Mark(apierr.ErrUnavailable, errors.New("exchange token of VMware Cloud: the response has no access token"))
	}
	// A number or a text.
	seconds, err := strconv.Atoi(strings.Trim(string(content.Expires), `"`))
	if err != nil || seconds <= 0 {
		return "", 0, apierr.Mark(apierr.ErrUnavailable, errors.New("exchange token of VMware Cloud: the response has no expires_in"))
	}

	return content.Access, time.Duration(seconds) * time.Second, nil
}

// exchangeMeaning returns what a response without a token means for a call: never that its
// object does not exist.
func exchangeMeaning(status int) error {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden: // 400 is for a token that is not valid
		return apierr.ErrDenied
	case http.StatusTooManyRequests:
		return apierr.ErrThrottled
	}

	return apierr.ErrUnavailable
}
