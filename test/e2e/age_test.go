package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// old is older than any node that is still given time to appear in its cloud.
const old = time.Hour

// age makes nodes look as if they had joined an hour ago. The API server sets
// the time itself and rejects changes of it, so this writes to etcd.
func (c *cluster) age(t *testing.T, names ...string) {
	t.Helper()
	etcd := dialStore(c)
	defer etcd.CloseIdleConnections()
	for _, name := range names {
		joined := time.Now().Add(-old).UTC().Truncate(time.Second)
		await(t, "node "+name+" to be aged", func(ctx context.Context) error {
			return etcd.edit(ctx, "/registry/minions/"+name, func(object map[string]any) {
				object["metadata"].(map[string]any)["creationTimestamp"] = joined.Format(time.RFC3339)
			})
		})
		await(t, "the API server to notice the age of node "+name, func(ctx context.Context) error {
			node, err := c.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				return nil // its age has been used already
			case err != nil:
				return err
			case !node.CreationTimestamp.Time.Equal(joined):
				return fmt.Errorf("it joined at %s", node.CreationTimestamp)
			}

			return nil
		})
	}
}

// store is the etcd of a control plane.
type store struct{ *http.Client }

func dialStore(c *cluster) store {
	socket := filepath.Join(c.Dir(), "etcd.sock")

	return store{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}}
}

// edit changes an object, unless another client does so at the same time.
func (s store) edit(ctx context.Context, key string, change func(map[string]any)) error {
	var found struct {
		KVs []struct {
			Value       []byte `json:"value"`
			ModRevision string `json:"mod_revision"`
		} `json:"kvs"`
	}
	if err := s.post(ctx, "range", map[string]any{"key": []byte(key)}, &found); err != nil {
		return err
	}
	if len(found.KVs) != 1 {
		return fmt.Errorf("etcd has %d values for %s", len(found.KVs), key)
	}
	var object map[string]any
	if err := json.Unmarshal(found.KVs[0].Value, &object); err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	change(object)
	value, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var done struct {
		Succeeded bool `json:"succeeded"`
	}
	err = s.post(ctx, "txn", map[string]any{
		"compare": []any{map[string]any{"key": []byte(key), "target": "MOD", "modRevision": found.KVs[0].ModRevision}},
		"success": []any{map[string]any{"requestPut": map[string]any{"key": []byte(key), "value": value}}},
	}, &done)
	if err == nil && !done.Succeeded {
		err = errors.New("it has changed meanwhile")
	}

	return err
}

func (s store) post(ctx context.Context, call string, request, response any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd/v3/kv/"+call, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := s.Do(req)
	if err != nil {
		return fmt.Errorf("query etcd: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("query etcd: %s", res.Status)
	}

	return json.NewDecoder(res.Body).Decode(response)
}
