package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

const (
	secretReadTimeout = 10 * time.Second
	secretWatch       = 5 * time.Minute // the shortest time that a watch lasts
	secretBackoffMax  = time.Minute
	secretMaxBytes    = 8 << 20
)

// secretBackoff has delays of 1 s, doubled up to a minute, each made shorter or longer
// by up to a half.
var secretBackoff = wait.Backoff{
	Duration: time.Second / 2, Factor: 2, Jitter: 2, Cap: secretBackoffMax / 2, Steps: math.MaxInt,
}

var errSecretAbsent = errors.New("secret does not exist")

// Secret is a Source in a Kubernetes Secret. It needs get, list and watch on
// secrets in that namespace and nothing else.
//
// The responses of the API server are read as raw streams and decoded here: the
// typed client logs complete bodies at high verbosity, and whether a context can
// stop it depends on a feature gate.
type Secret[C comparable] struct {
	reader[C]

	client          rest.Interface
	namespace, name string
}

// NewSecret returns the source of a Secret, which may appear later. The client is
// that of the core API.
func NewSecret[C comparable](client rest.Interface, namespace, name string, parse Parse[C]) *Secret[C] {
	s := &Secret[C]{client: client, namespace: namespace, name: name}
	s.reader = reader[C]{source: fmt.Sprintf("secret %s/%s", namespace, name), parse: parse, read: s.readOnce}

	return s
}

// Run follows the Secret until ctx ends.
func (s *Secret[C]) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("source", s.source)
	backoff := secretBackoff
	for ctx.Err() == nil {
		started := time.Now()
		if err := s.follow(ctx); err != nil && ctx.Err() == nil {
			logger.Error(err, "Could not follow the Secret")
		}
		if time.Since(started) > secretBackoffMax {
			backoff = secretBackoff
		}
		select {
		case <-ctx.Done():
		case <-time.After(backoff.Step()):
		}
	}
}

// follow reads the Secret and then watches it for a while.
func (s *Secret[C]) follow(ctx context.Context) error {
	number := s.start()
	list, err := s.list(ctx)
	if err != nil {
		return err
	}
	if len(list.Items) > 0 {
		s.apply(ctx, number, list.Items[0].Data)
	} else {
		klog.FromContext(ctx).Info("Secret does not exist; what was known of it stays in use", "source", s.source)
	}
	duration := secretWatch + rand.N(secretWatch)
	ctx, cancel := context.WithTimeout(ctx, duration+secretReadTimeout)
	defer cancel()
	events, err := s.open(ctx, metav1.ListOptions{
		Watch:               true,
		ResourceVersion:     list.ResourceVersion,
		TimeoutSeconds:      new(int64(duration.Seconds())),
		AllowWatchBookmarks: true,
	})
	if err != nil {
		return err
	}
	defer events.Close() //nolint:errcheck // read only

	return s.applyEvents(ctx, events)
}

// applyEvents stores every change until the stream ends.
func (s *Secret[C]) applyEvents(ctx context.Context, stream io.Reader) error {
	events := json.NewDecoder(stream)
	for {
		var event metav1.WatchEvent
		if err := events.Decode(&event); err != nil {
			// The end of a watch, expected or not, is no error.
			return nil //nolint:nilerr // followed again
		}
		switch watch.EventType(event.Type) {
		case watch.Added, watch.Modified:
			var secret v1.Secret
			if err := json.Unmarshal(event.Object.Raw, &secret); err != nil {
				return errors.New("decode event: not a Secret in JSON") // the cause might quote it
			}
			s.apply(ctx, s.start(), secret.Data)
		case watch.Deleted:
			klog.FromContext(ctx).Info("Secret was deleted; what was known of it stays in use", "source", s.source)
		case watch.Error:
			var status metav1.Status
			if err := json.Unmarshal(event.Object.Raw, &status); err != nil {
				return errors.New("decode event: not a Status in JSON")
			}

			return apierrors.FromObject(&status)
		default: // bookmarks are for clients that resume a watch
		}
	}
}

// readOnce reads the Secret now.
func (s *Secret[C]) readOnce(ctx context.Context) (map[string][]byte, error) {
	list, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, errSecretAbsent
	}

	return list.Items[0].Data, nil
}

func (s *Secret[C]) list(ctx context.Context) (*v1.SecretList, error) {
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
func (s *Secret[C]) open(ctx context.Context, options metav1.ListOptions) (io.ReadCloser, error) {
	options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, s.name).String()

	return s.client.Get().
		Namespace(s.namespace).
		Resource("secrets").
		VersionedParams(&options, scheme.ParameterCodec).
		SetHeader("Accept", runtime.ContentTypeJSON).
		Stream(ctx)
}
