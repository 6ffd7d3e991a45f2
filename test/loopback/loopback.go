//go:build unix

// Package loopback keeps a loopback port for a server that comes and goes, or
// that another process runs.
//
// A reserved port is bound and does not listen: connections are refused, and
// the system assigns the port to no other socket, except to one of the same
// user that shares it (SO_REUSEPORT), as [Port.Listen] and the servers of
// Kubernetes with --permit-port-sharing do. So a test never loses a port
// between choosing and using it.
package loopback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Any is the address that reserves any free IPv4 port.
const Any = "127.0.0.1:0"

// Port is a reserved port.
type Port struct {
	addr   *net.TCPAddr
	socket int
}

// Reserve reserves an address such as 127.0.0.1:0 or [::1]:8443; port 0 takes a
// free one. Addresses that are not loopback are refused.
func Reserve(address string) (*Port, error) {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("reserve port: %w", err)
	}
	if !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("reserve port: %s is not a loopback address", address)
	}
	p := &Port{addr: addr}
	if p.socket, err = openSocket(addr); err != nil {
		return nil, fmt.Errorf("reserve %s: %w", address, err)
	}
	if err := p.bind(); err != nil {
		return nil, errors.Join(fmt.Errorf("reserve %s: %w", address, err), p.Release())
	}

	return p, nil
}

// Number is the port number.
func (p *Port) Number() int { return p.addr.Port }

// IP is the address without the port.
func (p *Port) IP() net.IP { return p.addr.IP }

// String is the address as host:port.
func (p *Port) String() string { return p.addr.String() }

// Listen opens the port. The listener shares it with the reservation: after
// closing one, another can be opened.
func (p *Port) Listen(ctx context.Context) (net.Listener, error) {
	shared := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		controlErr := raw.Control(func(fd uintptr) { err = share(int(fd)) })

		return errors.Join(controlErr, err)
	}}

	return shared.Listen(ctx, "tcp", p.addr.String())
}

// Release makes the port available again.
func (p *Port) Release() error {
	return os.NewSyscallError("close", unix.Close(p.socket))
}

// openSocket keeps children from inheriting the socket: they would hold the
// port as well.
func openSocket(addr *net.TCPAddr) (int, error) {
	family := unix.AF_INET
	if addr.IP.To4() == nil {
		family = unix.AF_INET6
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	socket, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	unix.CloseOnExec(socket)

	return socket, nil
}

// share does not set SO_REUSEADDR: with it, any process could listen on a port
// that is only bound.
func share(socket int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
}

// bind binds the socket and finds out which port that was.
func (p *Port) bind() error {
	if err := share(p.socket); err != nil {
		return err
	}
	if err := unix.Bind(p.socket, sockaddr(p.addr)); err != nil {
		return os.NewSyscallError("bind", err)
	}
	bound, err := unix.Getsockname(p.socket)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	switch bound := bound.(type) {
	case *unix.SockaddrInet4:
		p.addr.Port = bound.Port
	case *unix.SockaddrInet6:
		p.addr.Port = bound.Port
	}

	return nil
}

func sockaddr(addr *net.TCPAddr) unix.Sockaddr {
	if ip := addr.IP.To4(); ip != nil {
		return &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip)}
	}

	return &unix.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP.To16())}
}
