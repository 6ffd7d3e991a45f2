package client

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

const (
	// maxErrorBody is what is read of an error.
	maxErrorBody = 64 << 10
	// maxRest is what is read of a body that was closed early, so that its connection can
	// be used again.
	maxRest = 4 << 10
)

// body is the body of a response. Its end is the end of the request.
type body struct {
	io.ReadCloser

	read int64
	most int64
	end  func(error) error // with the error if there is one, which it replaces
	once sync.Once
	err  error
}

// Read fails for a body that is too large.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err == nil && b.read > b.most {
		err = fmt.Errorf("response has more than %d bytes", b.most)
	}
	if err != nil {
		b.finish(err)

		return n, b.err
	}

	return n, nil
}

// Close ends the request.
func (b *body) Close() error {
	if b.err == nil {
		_, _ = io.CopyN(io.Discard, b.ReadCloser, maxRest) // what was needed has been read
	}
	b.finish(nil)

	return b.ReadCloser.Close()
}

func (b *body) finish(err error) {
	b.once.Do(func() {
		b.err = err
		if err == nil || errors.Is(err, io.EOF) {
			b.err = io.EOF
			_ = b.end(nil) // nil
		} else {
			b.err = b.end(err)
		}
	})
}

// firstByte returns the first byte of the body of a response that is no blank, zero if there
// is none. The body can be read from its beginning then.
func firstByte(res *http.Response) (byte, error) {
	if res.ContentLength == 0 || res.StatusCode == http.StatusNoContent {
		return 0, nil
	}
	from := bufio.NewReader(res.Body)
	whole := &rest{Reader: from, Closer: res.Body}
	for n := 1; n <= from.Size(); n++ {
		read, err := from.Peek(n)
		if len(read) < n {
			if errors.Is(err, io.EOF) {
				return 0, nil
			}

			return 0, err
		}
		if c := read[n-1]; !strings.ContainsRune(" \t\r\n", rune(c)) {
			res.Body = whole

			return c, nil
		}
	}

	return 0, errors.New("response begins with too many blanks")
}

// rest is a body that is read through a buffer.
type rest struct {
	io.Reader
	io.Closer
}
