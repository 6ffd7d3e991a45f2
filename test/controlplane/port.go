package controlplane

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// reservation holds a free loopback port. Its socket is bound but never
// listens: the kernel gives the port to nobody else, except to a process of the
// same user that asks to share it, as kube-apiserver does.
type reservation struct {
	socket int
	port   int
}

func reservePort() (*reservation, error) {
	socket, err := openSocket()
	if err != nil {
		return nil, fmt.Errorf("reserve port: %w", os.NewSyscallError("socket", err))
	}
	port, err := bindLoopback(socket)
	if err != nil {
		_ = unix.Close(socket)
		return nil, fmt.Errorf("reserve port: %w", err)
	}
	return &reservation{socket: socket, port: port}, nil
}

// openSocket keeps children from inheriting the socket: they would hold the
// port as well.
func openSocket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(socket)
	}
	return socket, err
}

func bindLoopback(socket int) (int, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: loopback}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	address, err := unix.Getsockname(socket)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	bound, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("bound to %T, not to an IPv4 address", address)
	}
	return bound.Port, nil
}

func (r *reservation) release() error {
	return os.NewSyscallError("close", unix.Close(r.socket))
}

var loopback = [4]byte{127, 0, 0, 1}

func loopbackIP() net.IP { return net.IP(loopback[:]) }
