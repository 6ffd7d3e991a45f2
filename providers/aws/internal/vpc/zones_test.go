package vpc_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// zoneAPI serves DescribeAvailabilityZones without a network, so that time can
// be the test's.
type zoneAPI struct {
	zones []string
	calls int
	fail  bool
}

// Do implements ec2.HTTPClient.
func (z *zoneAPI) Do(*http.Request) (*http.Response, error) {
	z.calls++
	if z.fail {
		return nil, errors.New("no route to host")
	}
	var body strings.Builder
	body.WriteString("<DescribeAvailabilityZonesResponse><availabilityZoneInfo><item/>")
	for _, name := range z.zones {
		body.WriteString("<item><zoneName>" + name + "</zoneName><zoneId>id-" + name + "</zoneId><zoneType>availability-zone</zoneType></item>")
	}
	body.WriteString("</availabilityZoneInfo></DescribeAvailabilityZonesResponse>")

	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body.String()))}, nil
}

func (z *zoneAPI) client() *ec2.Client {
	return ec2.New(ec2.Options{Region: "us-west-2", HTTPClient: z, Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{}})
}

// TestZones: zones are read once, and again for one that was not there.
func TestZones(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &zoneAPI{zones: []string{"a", "b"}}
		zones := vpc.NewZones(api.client())
		look := func(reason, name string, want error, calls int) {
			t.Helper()
			zone, err := zones.Get(t.Context(), name)
			if !errors.Is(err, want) || err == nil && zone.ID != "id-"+name {
				t.Errorf("%s: got %v, %v", reason, zone, err)
			}
			if api.calls != calls {
				t.Errorf("%s: want %d calls so far, got %d", reason, calls, api.calls)
			}
		}
		look("read", "a", nil, 1)
		look("cached", "b", nil, 1)
		time.Sleep(1000 * time.Hour)
		look("forever", "a", nil, 1)
		look("refetched for an unknown zone", "c", vpc.ErrNoZone, 2)
		look("but not at once", "c", apierr.ErrNotFound, 2)
		time.Sleep(time.Minute)
		api.fail = true
		if _, err := zones.Get(t.Context(), "c"); err == nil || errors.Is(err, vpc.ErrNoZone) {
			t.Errorf("no response does not make a zone unknown: got %v", err)
		}
		look("the others are known", "a", nil, 3)
		time.Sleep(time.Minute)
		api.fail, api.zones = false, []string{"a", "b", "c"}
		look("a new zone", "c", nil, 4)
		found, err := zones.Zones(t.Context(), []string{"c", "a"})
		want := map[string]vpc.Zone{
			"a": {Name: "a", ID: "id-a", Type: "availability-zone"}, "c": {Name: "c", ID: "id-c", Type: "availability-zone"},
		}
		if diff := cmp.Diff(want, found); diff != "" || err != nil {
			t.Errorf("several: %v (-want +got):\n%s", err, diff)
		}
	})
}
