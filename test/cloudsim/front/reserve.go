//go:build unix

package front

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const defaultAddress = "127.0.0.1:0"

// reservation keeps a port for a server that comes and goes. A socket that is
// bound but does not listen refuses connections and keeps the system from giving
// the port to anybody else. SO_REUSEPORT alone lets our own listener join it.
type reservation struct {
	addr *net.TCPAddr
	fd   int
}

func reserve(address string) (*reservation, error) {
	if address == "" {
		address = defaultAddress
	}
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("resolve listen address: %w", err)
	}
	if !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("listen on %s: not a loopback address", address)
	}
	family, sockaddr := socketAddress(addr)
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve %s: %w", address, os.NewSyscallError("socket", err))
	}
	unix.CloseOnExec(fd)
	r := &reservation{addr: addr, fd: fd}
	if err := errors.Join(
		os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)),
		os.NewSyscallError("bind", unix.Bind(fd, sockaddr)),
	); err != nil {
		return nil, errors.Join(fmt.Errorf("reserve %s: %w", address, err), r.close())
	}
	if addr.Port, err = boundPort(fd); err != nil {
		return nil, errors.Join(fmt.Errorf("reserve %s: %w", address, err), r.close())
	}
	return r, nil
}

// listen opens the port. The returned listener shares it with the reservation.
func (r *reservation) listen() (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var optErr error
		if err := raw.Control(func(fd uintptr) {
			optErr = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}); err != nil {
			return err
		}
		return optErr
	}}
	return config.Listen(context.Background(), "tcp", r.addr.String())
}

func (r *reservation) close() error { return os.NewSyscallError("close", unix.Close(r.fd)) }

func socketAddress(addr *net.TCPAddr) (int, unix.Sockaddr) {
	if ip := addr.IP.To4(); ip != nil {
		return unix.AF_INET, &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip)}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP.To16())}
}

func boundPort(fd int) (int, error) {
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	switch bound := name.(type) {
	case *unix.SockaddrInet4:
		return bound.Port, nil
	case *unix.SockaddrInet6:
		return bound.Port, nil
	}
	return 0, fmt.Errorf("unexpected socket address %T", name)
}
