package credential_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// testTimeout bounds every wait of these tests; none of them waits that long.
const testTimeout = 5 * time.Minute

// login is a user and a password.
type login struct{ user, password string }

var errPart = errors.New("a part is missing")

// parse reads <name>.user and <name>.password for a few names.
func parse(data map[string][]byte) (map[string]login, error) {
	found := map[string]login{}
	var errs []error
	for _, name := range []string{"one", "two"} {
		l := login{user: string(data[name+".user"]), password: string(data[name+".password"])}
		switch {
		case l == login{}:
		case l.user == "" || l.password == "":
			errs = append(errs, fmt.Errorf("%s: %w", name, errPart))
		default:
			found[name] = l
		}
	}
	if len(data) == 0 {
		errs = append(errs, errPart)
	}

	return found, errors.Join(errs...)
}

// follow runs a source until the test ends, and returns a channel of its changes.
func follow(t *testing.T, source interface {
	credential.Source[login]
	Run(ctx context.Context)
},
) <-chan struct{} {
	t.Helper()
	changes := make(chan struct{}, 100)
	source.Subscribe(func(context.Context) { changes <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		source.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})

	return changes
}

// await waits until a source has a password, and returns the number of changes that
// it reported.
func await(t *testing.T, source credential.Source[login], changes <-chan struct{}, password string) int {
	t.Helper()
	deadline := time.After(testTimeout)
	for n := 1; ; n++ {
		select {
		case <-changes:
		case <-deadline:
			t.Fatalf("no change to %q", password)
		}
		if got, err := source.Lookup(t.Context(), "one"); err == nil && got.password == password {
			return n
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pairs are the keys of name one.
func pairs(password string) []string { return []string{"one.user", "u", "one.password", password} }
