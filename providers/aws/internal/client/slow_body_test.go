package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// slowCloud is an HTTP transport that sends the header of a response at once and
// its body in pieces.
type slowCloud struct {
	*virtualCloud

	// pieces is the number of pieces of the body, each sent after the delay.
	pieces int
	delay  time.Duration
	// stallsAt is the piece that is never sent; 0 means that all are.
	stallsAt int
	requests atomic.Int32
}

// RoundTrip implements http.RoundTripper.
func (s *slowCloud) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests.Add(1)
	body := &slowBody{ctx: r.Context(), cloud: s}

	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(body)}, nil
}

// slowBody is the body of one response.
type slowBody struct {
	ctx   context.Context //nolint:containedctx // that of the request, as a transport has it
	cloud *slowCloud
	sent  int
	rest  bytes.Buffer
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	if b.rest.Len() == 0 {
		if b.sent == b.cloud.pieces {
			return 0, io.EOF
		}
		if err := b.next(); err != nil {
			return 0, err
		}
	}

	return b.rest.Read(p)
}

// next waits for the next piece.
func (b *slowBody) next() error {
	b.sent++
	delay := time.After(b.cloud.delay)
	if b.sent == b.cloud.stallsAt {
		delay = nil
	}
	select {
	case <-delay:
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
	switch b.sent {
	case 1:
		b.rest.WriteString("<DescribeInstancesResponse><reservationSet>")
	case b.cloud.pieces:
		b.rest.WriteString("</reservationSet></DescribeInstancesResponse>")
	default:
		b.rest.WriteString("<item><reservationId>" + strings.Repeat("r", 4096) + "</reservationId></item>")
	}

	return nil
}

// TestSlowBodyIsRead: a page of instances may take longer than the time in which
// EC2 must respond, as long as it keeps coming. One that stops coming is given up
// as soon as a response that does not begin, and one that never ends at last.
func TestSlowBodyIsRead(t *testing.T) {
	virtualKeys(t)
	for name, tc := range map[string]struct {
		pieces, stallsAt int
		delay            time.Duration
		requests         int32
		// least and most bound the time of the call, with its backoff.
		least, most time.Duration
		err         string
	}{
		"flows for 20 s":  {20, 0, time.Second, 1, 20 * time.Second, 20 * time.Second, ""},
		"delays of 5 s":   {5, 0, 5 * time.Second, 1, 25 * time.Second, 25 * time.Second, ""},
		"stops":           {20, 10, time.Second, 3, 45 * time.Second, 60 * time.Second, "the response stopped for 6s"},
		"never ends":      {1000, 0, time.Second, 3, 90 * time.Second, 105 * time.Second, "no complete response within 30s"},
		"stops at once":   {20, 1, time.Second, 3, 18 * time.Second, 33 * time.Second, "the response stopped for 6s"},
		"a byte too late": {3, 0, 7 * time.Second, 3, 18 * time.Second, 33 * time.Second, "the response stopped for 6s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slowCloud{virtualCloud: newVirtualCloud(), pieces: tc.pieces, delay: tc.delay, stallsAt: tc.stallsAt}
				begun := time.Now()
				_, err := s.clients(t, Tuning{}, s).EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
				if took := time.Since(begun); took < tc.least || took > tc.most || s.requests.Load() != tc.requests {
					t.Errorf("%d requests in %s", s.requests.Load(), took)
				}
				switch {
				case tc.err == "" && err != nil:
					t.Error(err)
				case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err) || apierr.Code(err) != apierr.CodeTimeout):
					t.Errorf("want %q, got %v", tc.err, err)
				case tc.err != "" && !errors.Is(err, context.DeadlineExceeded):
					t.Errorf("not a timeout: %v", err)
				}
			})
		})
	}
}
