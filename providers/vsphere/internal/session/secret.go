package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

const (
	secretReadTimeout = 10 * time.Second
	secretWatch       = 5 * time.Minute // how long one watch lasts, at least
	secretRetryFirst  = time.Second
	secretRetryMax    = time.Minute
	secretMaxBytes    = 8 << 20
)

var errSecretAbsent = errors.New("secret does not exist")

// Secret is a Source in a Kubernetes Secret. It needs get, list and watch on
// secrets in that namespace and nothing else.
//
// The answers of the API server are read as raw streams and decoded here: the
// typed client logs whole bodies at high verbosity, and whether a context can
// stop it depends on a feature gate.
type Secret struct {
	reader

	client               rest.Interface
	namespace, key       string
	retryFirst, retryMax time.Duration
}

var _ Source = (*Secret)(nil)

// NewSecret makes the source of a Secret, which may appear later. The client is
// that of the core API.
func NewSecret(client rest.Interface, namespace, name string) *Secret {
	s := &Secret{
		client: client, namespace: namespace, key: name,
		retryFirst: secretRetryFirst, retryMax: secretRetryMax,
	}
	s.reader = reader{name: fmt.Sprintf("secret %s/%s", namespace, name), load: s.loadOnce}

	return s
}

// Run follows the Secret until ctx ends.
func (s *Secret) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("source", s.name)
	delay := s.retryFirst
	for ctx.Err() == nil {
		began := time.Now()
		if err := s.follow(ctx); err != nil && ctx.Err() == nil {
			logger.Error(err, "Could not follow the Secret")
		}
		if time.Since(began) > s.retryMax {
			delay = s.retryFirst
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay/2 + rand.N(delay)):
		}
		delay = min(2*delay, s.retryMax)
	}
}

// follow reads the Secret and then watches it for a while.
func (s *Secret) follow(ctx context.Context) error {
	turn := s.begin()
	list, err := s.list(ctx)
	if err != nil {
		return err
	}
	if len(list.Items) > 0 {
		s.take(ctx, turn, list.Items[0].Data)
	} else {
		klog.FromContext(ctx).Info("Secret does not exist; what was known of it stays in use", "source", s.name)
	}
	lasting := secretWatch + rand.N(secretWatch)
	ctx, cancel := context.WithTimeout(ctx, lasting+secretReadTimeout)
	defer cancel()
	events, err := s.open(ctx, metav1.ListOptions{
		Watch:               true,
		ResourceVersion:     list.ResourceVersion,
		TimeoutSeconds:      new(int64(lasting.Seconds())),
		AllowWatchBookmarks: true,
	})
	if err != nil {
		return err
	}
	defer events.Close() //nolint:errcheck // read only

	return s.takeEvents(ctx, events)
}

// takeEvents puts every change in place until the stream ends.
func (s *Secret) takeEvents(ctx context.Context, stream io.Reader) error {
	events := json.NewDecoder(stream)
	for {
		var event metav1.WatchEvent
		if err := events.Decode(&event); err != nil {
			// The end of a watch, expected or not, is no news.
			return nil //nolint:nilerr // followed anew
		}
		switch watch.EventType(event.Type) {
		case watch.Added, watch.Modified:
			var secret v1.Secret
			if err := json.Unmarshal(event.Object.Raw, &secret); err != nil {
				return errors.New("decode event: not a Secret in JSON") // the cause might quote it
			}
			s.take(ctx, s.begin(), secret.Data)
		case watch.Deleted:
			klog.FromContext(ctx).Info("Secret was deleted; what was known of it stays in use", "source", s.name)
		case watch.Error:
			var status metav1.Status
			if err := json.Unmarshal(event.Object.Raw, &status); err != nil {
				return errors.New("decode event: not a Status in JSON")
			}

			return apierrors.FromObject(&status)
		default: // bookmarks are for those who resume
		}
	}
}

// loadOnce reads the Secret now.
func (s *Secret) loadOnce(ctx context.Context) (map[string][]byte, error) {
	list, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, errSecretAbsent
	}

	return list.Items[0].Data, nil
}

func (s *Secret) list(ctx context.Context) (*v1.SecretList, error) {
	ctx, cancel := context.WithTimeout(ctx, secretReadTimeout)
	defer cancel()
	stream, err := s.open(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	defer stream.Close() //nolint:errcheck // read only
	list := &v1.SecretList{}
	if err := json.NewDecoder(io.LimitReader(stream, secretMaxBytes)).Decode(list); err != nil {
		return nil, errors.New("decode list: not a SecretList in JSON") // the cause might quote it
	}

	return list, nil
}

// open starts a list or a watch of this one object.
func (s *Secret) open(ctx context.Context, options metav1.ListOptions) (io.ReadCloser, error) {
	options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, s.key).String()

	return s.client.Get().
		Namespace(s.namespace).
		Resource("secrets").
		VersionedParams(&options, scheme.ParameterCodec).
		SetHeader("Accept", runtime.ContentTypeJSON).
		Stream(ctx)
}
