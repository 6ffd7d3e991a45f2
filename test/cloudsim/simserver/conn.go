package simserver

import (
	"net"
	"sync"
)

// serverListener accepts connections that Hang stops and that Down can cut.
type serverListener struct {
	net.Listener
	server *Server
}

// Accept implements [net.Listener].
func (l *serverListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, server: l.server, closed: make(chan struct{})}
	l.server.mu.Lock()
	l.server.conns[c] = struct{}{}
	l.server.mu.Unlock()

	return c, nil
}

// conn is one client's connection.
type conn struct {
	net.Conn
	server *Server
	once   sync.Once
	closed chan struct{}
}

// Read hides what arrives while the server hangs; errors pass, so that the
// server notices when a client gives up.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && !c.pass() {
		return 0, net.ErrClosed
	}

	return n, err
}

// Write waits while the server hangs.
func (c *conn) Write(b []byte) (int, error) {
	if !c.pass() {
		return 0, net.ErrClosed
	}

	return c.Conn.Write(b)
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.server.mu.Lock()
		delete(c.server.conns, c)
		c.server.mu.Unlock()
	})

	return c.Conn.Close()
}

// reset closes the connection the way a failed machine does.
func (c *conn) reset() {
	switch raw := c.Conn.(type) {
	case *net.TCPConn:
		_ = raw.SetLinger(0) // without it the connection is closed in order
	case *pipeConn:
		raw.reset()
	}
	_ = c.Close()
}

// pass waits until the server does not hang and reports whether the connection
// is still open then.
func (c *conn) pass() bool {
	for {
		c.server.mu.Lock()
		resumed := c.server.resumed
		hanging := c.server.hanging
		c.server.mu.Unlock()
		if !hanging {
			return true
		}
		select {
		case <-resumed:
		case <-c.closed:
			return false
		}
	}
}
