// Package ccm runs the controller manager's binary as a process, as users run
// it, for the end-to-end tests, the demo and the benchmarks.
package ccm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/multicloud-ccm/multicloud-ccm/test/loopback"
	"github.com/multicloud-ccm/multicloud-ccm/test/process"
)

// Name is what the binary is called.
const Name = "multicloud-controller-manager"

// healthPeriod is how often it is checked whether a starting process serves.
const healthPeriod = 50 * time.Millisecond

// healthTimeout is when a request is repeated: one that was accepted before the server
// was ready may never be served.
const healthTimeout = 30 * time.Second

// Options define how to run the binary.
type Options struct {
	// Binary is its path: see Locate.
	Binary string
	// Dir is where logs go. Several processes can share it under names of
	// their own.
	Dir  string
	Name string
	// Kubeconfig is how it reaches the API server, for delegated authentication
	// too.
	Kubeconfig string
	// CloudConfig is the path of the cloud-config; empty means none.
	CloudConfig string
	// Args come after those that follow from the rest.
	Args []string
	// Env is added to the environment.
	Env []string
}

// CCM is a running controller manager.
type CCM struct {
	*process.Process

	port *loopback.Port
}

// Locate finds a built binary, given its path below the top of the repository.
// The error describes how to build it.
func Locate(path string) (string, error) {
	top, err := Top()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	binary := filepath.Join(top, path)
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("%s is not built, run: make %s", path, path)
	}

	return binary, nil
}

// Top returns the top of the repository that the working directory is in.
func Top() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not below a Go module")
		}
		dir = parent
	}
}

// Start starts the binary and returns at once.
func Start(opts Options) (*CCM, error) {
	port, err := loopback.Reserve(loopback.Any)
	if err != nil {
		return nil, err
	}
	args := []string{
		"--kubeconfig=" + opts.Kubeconfig,
		"--authentication-kubeconfig=" + opts.Kubeconfig,
		"--authorization-kubeconfig=" + opts.Kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port.Number()),
		"--permit-port-sharing",
	}
	if opts.CloudConfig != "" {
		args = append(args, "--cloud-config="+opts.CloudConfig)
	}
	if opts.Name == "" {
		opts.Name = Name
	}
	child, err := process.Start(process.Spec{
		Name: opts.Name, Binary: opts.Binary, Dir: opts.Dir, Env: opts.Env,
		Args: append(args, opts.Args...),
	})
	if err != nil {
		return nil, errors.Join(err, port.Release())
	}

	return &CCM{Process: child, port: port}, nil
}

// WaitHealthy returns when /healthz returns ok: the provider is chosen and made
// by then. It fails at once when the process ends.
func (c *CCM) WaitHealthy(ctx context.Context) error {
	ctx, cancel := c.WhileRunning(ctx)
	defer cancel()
	client := &http.Client{Timeout: healthTimeout, Transport: &http.Transport{
		// The certificate is made anew at every start.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // loopback
	}}
	defer client.CloseIdleConnections()
	for {
		body, err := get(ctx, client, "https://"+c.port.String()+"/healthz")
		if err == nil && body == "ok" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to be healthy: %w (last: %w), its log ends with:\n%s", Name, context.Cause(ctx), err, c.Tail())
		case <-time.After(healthPeriod):
		}
	}
}

// Get fetches a path of the process's server as the user of a Kubernetes client
// configuration, who must be allowed to.
func (c *CCM) Get(ctx context.Context, as *rest.Config, path string) (string, error) {
	return Fetch(ctx, as, c.port.String(), path)
}

// Fetch fetches a path of the server of a process at an address with a port, as the user of a
// Kubernetes client configuration, who must be allowed to.
func Fetch(ctx context.Context, as *rest.Config, address, path string) (string, error) {
	config := rest.CopyConfig(as)
	config.Insecure, config.CAData, config.CAFile = true, nil, ""
	config.DisableCompression = true // it takes more CPU time than all else, on loopback for nothing
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", fmt.Errorf("get %s: %w", path, err)
	}
	defer client.CloseIdleConnections()

	return get(ctx, client, "https://"+address+path)
}

// Log returns all output so far.
func (c *CCM) Log() (string, error) {
	text, err := os.ReadFile(c.LogPath())

	return string(text), err
}

// WaitLog returns when the output holds a text, or the process ended without.
func (c *CCM) WaitLog(ctx context.Context, text string) error {
	ctx, cancel := c.WhileRunning(ctx)
	defer cancel()
	for {
		ended := ctx.Err() != nil // what was written before is in the log
		log, err := c.Log()
		if err != nil {
			return err
		}
		if strings.Contains(log, text) {
			return nil
		}
		if ended {
			return fmt.Errorf("wait for %q in the log: %w, it ends with:\n%s", text, context.Cause(ctx), c.Tail())
		}
		select {
		case <-ctx.Done():
		case <-time.After(healthPeriod):
		}
	}
}

// WaitExit returns the exit code once the process has ended by itself.
func (c *CCM) WaitExit(ctx context.Context) (int, error) {
	ctx, cancel := c.WhileRunning(ctx)
	defer cancel()
	<-ctx.Done()
	if c.Failure() == nil {
		return 0, fmt.Errorf("wait for %s to end: %w, its log ends with:\n%s", Name, context.Cause(ctx), c.Tail())
	}

	return c.ExitCode(), nil
}

// Stop ends the process as Kubernetes does, with SIGTERM, and waits for it.
func (c *CCM) Stop(ctx context.Context) error {
	return errors.Join(c.Process.Stop(ctx), c.port.Release())
}

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("get %s: %s: %s", url, response.Status, body)
	}

	return string(body), nil
}
