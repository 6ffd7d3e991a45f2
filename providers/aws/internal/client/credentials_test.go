package client_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestCredentialsInFile covers AWS-AUTH-2: keys in a file are used as they are
// now, also to assume a role. A file that cannot be read changes nothing.
func TestCredentialsInFile(t *testing.T) {
	for name, assumed := range map[string]string{"keys": "", "keys for a role": role} {
		t.Run(name, func(t *testing.T) {
			cloud, _ := start(t, sim.Options{})
			file := filepath.Join(t.TempDir(), "credentials")
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			const profile = "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n"
			write(fmt.Sprintf(profile, "AKIAOLD", "old"))
			tuning := quick()
			tuning.FileAge = time.Nanosecond
			_, clients := connect(t, client.Options{RoleARN: assumed, Overrides: overrides(cloud), Tuning: tuning})
			call := func(reason, want string) {
				t.Helper()
				_, err := clients.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
				if got := apierr.Code(err); got != want {
					t.Errorf("%s: %q, want %q: %v", reason, got, want, err)
				}
			}
			call("these keys are unknown", apierr.CodeDenied)
			id, secret := cloud.AccessKey()
			write(fmt.Sprintf(profile, id, secret))
			call("the new keys", apierr.CodeOK)
			write("[default\naws_access")
			call("AWS-AUTH-2: a truncated file", apierr.CodeOK)
			for _, request := range cloud.Requests("DescribeInstances") {
				if assumed == "" && request.AccessKeyID != id && request.AccessKeyID != "AKIAOLD" {
					t.Errorf("the call is signed with %s, which is in no file", request.AccessKeyID)
				}
			}
		})
	}
}

// TestOwnerChanged: another key in a file may be one of another account. Keys of
// a role change by themselves, and the role does not.
func TestOwnerChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		assumed string
		changes bool
	}{"keys": {"", true}, "keys for a role": {role, false}} {
		t.Run(name, func(t *testing.T) {
			cloud, _ := start(t, sim.Options{})
			file := filepath.Join(t.TempDir(), "credentials")
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
			id, secret := cloud.AccessKey()
			tuning := quick()
			tuning.FileAge = time.Nanosecond
			var clients *client.Clients
			for i, key := range []string{id, id, "AKIAOTHER"} {
				text := fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", key, secret)
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if clients == nil {
					_, clients = connect(t, client.Options{RoleARN: tc.assumed, Overrides: overrides(cloud), Tuning: tuning})
				}
				_, _ = clients.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{}) // the last key is unknown
				if changed := !clients.OwnerChanged().IsZero(); changed != (tc.changes && i == 2) {
					t.Errorf("after call %d with key %s: changed %t", i, key, changed)
				}
			}
		})
	}
}

// TestOwnerOfEnvironmentNeverChanges: with keys in the environment there is one
// owner for the life of the process.
func TestOwnerOfEnvironmentNeverChanges(t *testing.T) {
	cloud, _ := start(t, sim.Options{})
	keys(t, cloud)
	_, clients := connect(t, client.Options{Overrides: overrides(cloud), Tuning: quick()})
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAOTHER")
	for range 2 {
		if _, err := clients.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{}); err != nil {
			t.Fatal(err)
		}
	}
	if at := clients.OwnerChanged(); !at.IsZero() {
		t.Errorf("the owner changed at %s", at)
	}
}
