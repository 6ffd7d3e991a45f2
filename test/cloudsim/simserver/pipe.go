package simserver

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// pipeEndpoint is an endpoint without a port: its connections are pipes. Waiting
// for one lets the time of a testing/synctest bubble pass, which waiting for a
// socket does not: https://pkg.go.dev/testing/synctest#hdr-Blocking.
type pipeEndpoint struct {
	address *net.TCPAddr

	mu       sync.Mutex
	listener *pipeListener // nil while nothing listens
}

// newPipeEndpoint returns an endpoint whose address nothing else uses.
func newPipeEndpoint(address string) (*pipeEndpoint, error) {
	resolved, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}

	return &pipeEndpoint{address: resolved}, nil
}

func (m *pipeEndpoint) IP() net.IP     { return m.address.IP }
func (m *pipeEndpoint) String() string { return m.address.String() }
func (m *pipeEndpoint) Release() error { return nil }

// Listen accepts connections until the listener is closed.
func (m *pipeEndpoint) Listen(context.Context) (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listener = &pipeListener{address: m.address, accept: make(chan net.Conn), closed: make(chan struct{})}

	return m.listener, nil
}

// dial connects, or is refused as on a port on which nothing listens.
func (m *pipeEndpoint) dial(ctx context.Context) (net.Conn, error) {
	m.mu.Lock()
	listener := m.listener
	m.mu.Unlock()
	err := error(syscall.ECONNREFUSED)
	if listener != nil {
		near, far := net.Pipe()
		cut := new(atomic.Bool)
		select {
		case listener.accept <- &pipeConn{Conn: far, cut: cut}:
			return &pipeConn{Conn: near, cut: cut}, nil
		case <-listener.closed:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}

	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: m.address, Err: err}
}

// pipeListener accepts the far ends of pipes.
type pipeListener struct {
	address net.Addr
	accept  chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

// Accept implements [net.Listener].
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })

	return nil
}

// Addr implements [net.Listener].
func (l *pipeListener) Addr() net.Addr { return l.address }

// pipeConn is one end of a pipe that can be cut as well as closed.
type pipeConn struct {
	net.Conn
	cut *atomic.Bool // shared by both ends
}

// Read implements [net.Conn].
func (c *pipeConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		err = c.explain("read", err)
	}

	return n, err
}

// Write implements [net.Conn].
func (c *pipeConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = c.explain("write", &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE})
	}

	return n, err
}

// explain returns the error of a connection that the other end has closed or cut.
func (c *pipeConn) explain(op string, err error) error {
	if c.cut.Load() {
		return &net.OpError{Op: op, Net: "tcp", Err: syscall.ECONNRESET}
	}

	return err
}

// reset cuts the connection.
func (c *pipeConn) reset() { c.cut.Store(true) }
