package loopback_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/loopback"
)

func TestPortStaysOurs(t *testing.T) {
	t.Parallel()
	for _, address := range []string{loopback.Any, "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			port, err := loopback.Reserve(address)
			if err != nil {
				t.Fatal(err)
			}
			defer port.Release()
			refused(t, port, "before anything listens")
			for range 2 {
				listener, err := port.Listen(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				conn, err := net.Dial("tcp", port.String())
				if err != nil {
					t.Fatal(err)
				}
				// The server's end closes first, so that the port has a
				// connection in TIME_WAIT when it is opened again.
				served, err := listener.Accept()
				if err != nil {
					t.Fatal(err)
				}
				served.Close()
				conn.Close()
				listener.Close()
			}
			refused(t, port, "after the last listener closed")
			if other, err := net.Listen("tcp", port.String()); err == nil {
				other.Close()
				t.Errorf("another process could listen on %s", port)
			}
		})
	}
}

func refused(t *testing.T, port *loopback.Port, when string) {
	t.Helper()
	if conn, err := net.Dial("tcp", port.String()); !errors.Is(err, syscall.ECONNREFUSED) {
		if err == nil {
			conn.Close()
		}
		t.Errorf("dial %s %s: got %v, want connection refused", port, when, err)
	}
}

func TestOnlyLoopback(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "nonsense"} {
		if port, err := loopback.Reserve(address); err == nil {
			port.Release()
			t.Errorf("Reserve(%q) succeeded, want an error", address)
		}
	}
}
