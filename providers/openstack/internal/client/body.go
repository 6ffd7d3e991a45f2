package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
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

// isEmpty reports whether a response has no body. It may read the beginning.
func isEmpty(res *http.Response) (bool, error) {
	if res.ContentLength == 0 || res.StatusCode == http.StatusNoContent {
		return true, nil
	}
	if res.ContentLength > 0 {
		return false, nil
	}
	first := make([]byte, 1)
	n, err := io.ReadFull(res.Body, first)
	if n == 0 && errors.Is(err, io.EOF) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	res.Body = &rest{Reader: io.MultiReader(bytes.NewReader(first), res.Body), Closer: res.Body}

	return false, nil
}

// rest is a body whose beginning was read before.
type rest struct {
	io.Reader
	io.Closer
}
