package aws

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"sync"
	"testing"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// responses caches decoded responses by operation and body. Most reads of a crash
// exploration, and of a test of costs, return what earlier ones returned, and decoding
// XML is much of the CPU time of a call.
type responses struct {
	mu     sync.Mutex
	byBody map[string]response
}

// response is a decoded response. The text is the result as it was decoded.
type response struct {
	op, text string
	result   any
}

// newResponses returns an empty cache. The test fails if the product has written to
// a result, because results are shared.
func newResponses(t testing.TB) *responses {
	t.Helper()
	r := &responses{byBody: map[string]response{}}
	t.Cleanup(func() {
		if names := r.altered(); len(names) > 0 {
			t.Errorf("results of %v were written to", names)
		}
	})

	return r
}

// add has an SDK client use the cache.
func (r *responses) add(stack *middleware.Stack) error {
	inner, found := stack.Deserialize.Get("OperationDeserializer")
	if !found {
		return nil // nothing is decoded
	}
	_, err := stack.Deserialize.Swap(inner.ID(), &cachedDeserializer{inner, r})

	return err
}

// altered are the operations whose results the product has written to.
func (r *responses) altered() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, one := range r.byBody {
		if text, _ := json.Marshal(one.result); string(text) != one.text {
			names = append(names, one.op)
		}
	}

	return names
}

// get returns the result of a response, decoding it if it is new.
func (r *responses) get(op string, body []byte, decode func() (any, error)) (any, error) {
	key := op + string(withoutRequestID(body))
	r.mu.Lock()
	known, found := r.byBody[key]
	r.mu.Unlock()
	if found {
		return shallowCopy(known.result), nil
	}
	result, err := decode()
	if err != nil {
		return result, err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byBody[key] = response{op, string(text), result}

	return shallowCopy(result), nil
}

// shallowCopy returns a copy of the struct that a result points to: the SDK sets the
// metadata of the call in it, also while other tests get the same result.
func shallowCopy(result any) any {
	from := reflect.ValueOf(result)
	if from.Kind() != reflect.Pointer || from.IsNil() {
		return result
	}
	to := reflect.New(from.Type().Elem())
	to.Elem().Set(from.Elem())

	return to.Interface()
}

// withoutRequestID returns a body without the ID of the request, which is another
// one each time.
func withoutRequestID(body []byte) []byte {
	lower := bytes.Index(body, []byte("equestId>"))
	if lower < 0 {
		return body
	}
	begin := lower + len("equestId>")
	end := begin + bytes.IndexByte(body[begin:], '<')

	return append(bytes.Clone(body[:begin]), body[end:]...)
}

// cachedDeserializer decodes a response unless an equal one was decoded before.
type cachedDeserializer struct {
	middleware.DeserializeMiddleware

	cache *responses
}

// HandleDeserialize implements [middleware.DeserializeMiddleware].
func (d *cachedDeserializer) HandleDeserialize(
	ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
) (out middleware.DeserializeOutput, metadata middleware.Metadata, err error) {
	out, metadata, err = next.HandleDeserialize(ctx, in)
	raw, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !ok {
		return out, metadata, err
	}
	body, err := io.ReadAll(raw.Body)
	if err != nil {
		return out, metadata, err
	}
	decode := func() (any, error) {
		raw.Body = io.NopCloser(bytes.NewReader(body))
		out, metadata, err = d.DeserializeMiddleware.HandleDeserialize(ctx, in, received{out, metadata})

		return out.Result, err
	}
	if raw.StatusCode != http.StatusOK {
		_, err = decode()

		return out, metadata, err
	}
	out.Result, err = d.cache.get(middleware.GetOperationName(ctx), body, decode)

	return out, metadata, err
}

// received is a response that was received before.
type received struct {
	out      middleware.DeserializeOutput
	metadata middleware.Metadata
}

// HandleDeserialize implements [middleware.DeserializeHandler].
func (r received) HandleDeserialize(
	context.Context, middleware.DeserializeInput,
) (middleware.DeserializeOutput, middleware.Metadata, error) {
	return r.out, r.metadata, nil
}
