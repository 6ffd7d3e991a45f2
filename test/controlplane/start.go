package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/multicloud-ccm/multicloud-ccm/test/loopback"
	"github.com/multicloud-ccm/multicloud-ccm/test/process"
)

const (
	pollInterval = 30 * time.Millisecond
	// pollTimeout is when a request is repeated: one that was accepted before the
	// server was ready may never be served.
	pollTimeout = 30 * time.Second
)

// The sockets of etcd are relative to the directory that both processes run in:
// the name of a socket may not be longer than about a hundred bytes, that of a
// test's directory often is.
const (
	etcdSocket     = "etcd.sock"
	etcdPeerSocket = "etcd-peer.sock"
)

// etcdArgs trade safety for speed: nothing in here outlives a test. A lone member
// elects itself within a fifth of a second, so shorter timeouts would only cost
// CPU time.
func etcdArgs() []string {
	return []string{
		"--name=test",
		"--data-dir=etcd",
		"--unsafe-no-fsync",
		"--listen-client-urls=unix://" + etcdSocket,
		"--advertise-client-urls=unix://" + etcdSocket,
		"--listen-peer-urls=unix://" + etcdPeerSocket,
		"--initial-advertise-peer-urls=unix://" + etcdPeerSocket,
		"--initial-cluster=test=unix://" + etcdPeerSocket,
	}
}

// startProcess starts one of the two. Collecting garbage less often saves a
// quarter of the processor time of a start.
func startProcess(name, binary, dir string, args []string) (*process.Process, error) {
	return process.Start(process.Spec{Name: name, Binary: binary, Args: args, Dir: dir, Env: []string{"GOGC=400"}})
}

func apiServerArgs(port *loopback.Port) []string {
	return []string{
		"--etcd-servers=unix://" + etcdSocket,
		"--bind-address=" + port.IP().String(),
		"--advertise-address=" + port.IP().String(),
		"--secure-port=" + strconv.Itoa(port.Number()),
		"--permit-port-sharing",                           // with our own reservation of the port
		"--shutdown-watch-termination-grace-period=100ms", // the default waits for watchers to leave
		"--endpoint-reconciler-type=none",                 // the default rejects a loopback address
		"--service-cluster-ip-range=10.0.0.0/16",
		"--allow-privileged",
		"--disable-admission-plugins=TaintNodesByCondition",
		"--authorization-mode=RBAC",
		"--client-ca-file=" + authorityFile,
		"--tls-cert-file=" + servingCertificateFile,
		"--tls-private-key-file=" + servingKeyFile,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + serviceAccountKeyFile,
		"--service-account-signing-key-file=" + serviceAccountKeyFile,
		"--requestheader-client-ca-file=" + frontProxyAuthorityFile,
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
	}
}

// etcdReady reports whether etcd has opened its socket. A client that connects
// from then on is served as soon as etcd has elected itself. Dialing it from
// here would fail for a directory with a long name.
func etcdReady(dir string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err // not ready for a caller that no longer waits, however fast etcd was
		}
		_, err := os.Stat(filepath.Join(dir, etcdSocket))

		return err
	}
}

// apiServerReady reports whether the API server is ready and has made what a
// cloud controller manager looks for when it starts.
func apiServerReady(client kubernetes.Interface) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return fmt.Errorf("get /readyz: %w", err)
		}
		_, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})

		return err
	}
}

// await repeats the check until it passes. It gives up when any process ends,
// or the context does, with the end of the awaited process's log in the error.
func (cp *ControlPlane) await(ctx context.Context, awaited *process.Process, check func(context.Context) error) error {
	ctx, cancel := awaited.WhileRunning(ctx)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		last := attempt(ctx, check)
		if last == nil {
			return nil
		}
		if err := cp.failure(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (last result: %w), its log ends with:\n%s",
				awaited.Name(), context.Cause(ctx), last, awaited.Tail())
		case <-ticker.C:
		}
	}
}

func attempt(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()

	return check(ctx)
}
