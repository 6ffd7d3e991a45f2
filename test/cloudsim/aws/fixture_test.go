package aws

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, opts Options) *Cloud {
	t.Helper()
	cloud, err := Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})

	return cloud
}

// config is the configuration of a client without retries.
func config(t *testing.T, c *Cloud) awssdk.Config {
	t.Helper()
	client := c.Config()
	client.RetryMaxAttempts = 1
	t.Cleanup(client.HTTPClient.(*http.Client).CloseIdleConnections)

	return client
}

func ec2Client(t *testing.T, c *Cloud) *ec2.Client {
	t.Helper()

	return ec2.NewFromConfig(config(t, c))
}

// code returns the error code of the API, "" for success.
func code(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}

	return "no response"
}

// wantCode fails unless err has the code and its message all the texts.
func wantCode(t *testing.T, err error, want string, texts ...string) {
	t.Helper()
	if got := code(err); got != want {
		t.Errorf("got code %q (%v), want %q", got, err, want)

		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not mention %q", err, text)
		}
	}
}

func by(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}
