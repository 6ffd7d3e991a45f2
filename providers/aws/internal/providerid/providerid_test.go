package providerid_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/providerid"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// TestParse covers the table of §4.
func TestParse(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		id     string
		want   string
	}{
		"Emitted":         {reason: "§4 emitted form", id: "aws:///us-east-1a/i-0abc", want: "i-0abc"},
		"NoZone":          {reason: "§4 empty zone", id: "aws:////i-0abc", want: "i-0abc"},
		"InstanceOnly":    {reason: "§4 path of one part", id: "aws:///i-0abc", want: "i-0abc"},
		"Account":         {reason: "§4 account in front of the path", id: "aws://acct/az/i-0abc", want: "i-0abc"},
		"TrailingSlash":   {reason: "§4 slash at the end", id: "aws:///us-east-1a/i-0abc/", want: "i-0abc"},
		"Bare":            {reason: "§4 instance ID alone", id: "i-0abc", want: "i-0abc"},
		"Fargate":         {reason: "§4 Fargate pod", id: "aws:///az/x/fargate-ip-10-0-0-1", want: "fargate-ip-10-0-0-1"},
		"Empty":           {reason: "§4 nothing is an error"},
		"Volume":          {reason: "§4 a volume is no instance", id: "aws:///az/vol-1"},
		"VolumeBare":      {reason: "§4 a volume is no instance", id: "vol-1"},
		"HostOnly":        {reason: "§4 the part behind aws:// is an account, not an instance", id: "aws://i-0abc"},
		"OtherScheme":     {reason: "W27 another cloud's ID is refused", id: "gce://p/z/i-1"},
		"OtherCapitals":   {reason: "§4 the scheme is written in small letters", id: "AWS:///az/i-1"},
		"BarePath":        {reason: "§4 a path needs a scheme", id: "az/i-1"},
		"BareFargate":     {reason: "§4 a Fargate pod needs a scheme", id: "fargate-10.0.0.1"},
		"NothingInside":   {reason: "§4 no last part", id: "aws:///"},
		"SomethingBehind": {reason: "§4 the last part decides", id: "aws:///az/i-1/vol-1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := providerid.Parse(tc.id)
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			if wantErr := tc.want == ""; wantErr != errors.Is(err, apierr.ErrInvalid) {
				t.Errorf("%s: got error %v, want one: %t", tc.reason, err, wantErr)
			}
			if providerid.IsFargate(got) != strings.Contains(tc.want, "fargate") {
				t.Errorf("%s: IsFargate(%q) = %t", tc.reason, got, providerid.IsFargate(got))
			}
		})
	}
}

func TestFormatIsParsed(t *testing.T) {
	t.Parallel()

	id := providerid.Format("us-east-1a", "i-0abc")
	if want := "aws:///us-east-1a/i-0abc"; id != want {
		t.Errorf("§4: got %q, want %q", id, want)
	}
	if got, err := providerid.Parse(id); got != "i-0abc" || err != nil {
		t.Errorf("§4: got %q, %v", got, err)
	}
}
