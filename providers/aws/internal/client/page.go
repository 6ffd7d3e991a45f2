package client

import (
	"context"
	"fmt"
	"mime"
	"net/http"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// pageMiddleware rejects a success that is an HTML page: it is from a proxy, since the
// APIs of AWS return XML or JSON. Without it, the SDK takes any success for one of an
// operation whose result is empty, such as DeleteRoute.
func pageMiddleware() middleware.DeserializeMiddleware {
	return middleware.DeserializeMiddlewareFunc("multicloud-ccm/page", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		response, ok := out.RawResponse.(*smithyhttp.Response)
		if err != nil || !ok || response == nil || response.StatusCode >= http.StatusMultipleChoices {
			return out, metadata, err
		}
		if content, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); content == "text/html" {
			err = &smithy.DeserializationError{Err: fmt.Errorf("response %d is an HTML page, not one of AWS", response.StatusCode)}
		}

		return out, metadata, err
	})
}

// Paginator reads a list page by page, as those of the SDK do.
type Paginator[Page, Options any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, options ...func(*Options)) (*Page, error)
}

// All returns the items of all pages of a list.
func All[Page, Options, Item any](ctx context.Context, pages Paginator[Page, Options], items func(*Page) []Item) ([]Item, error) {
	var all []Item
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller names the list
		}
		all = append(all, items(page)...)
	}

	return all, nil
}
