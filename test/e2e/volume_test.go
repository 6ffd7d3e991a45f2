package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// file is one of a volume.
type file struct {
	content []byte
	mode    int32
}

type files map[string]file

// refresh writes the volumes of a Pod. Those that have changed are replaced as kubelets do it, and
// those whose object has been deleted stay as they are.
func (p *pod) refresh(t *testing.T) {
	t.Helper()
	for _, volume := range p.Spec.Volumes {
		content, err := p.content(t.Context(), volume)
		if _, statErr := os.Stat(p.mounts[volume.Name]); apierrors.IsNotFound(err) && statErr == nil {
			continue
		}
		if err == nil {
			err = writeVolume(p.mounts[volume.Name], content)
		}
		if err != nil {
			t.Fatalf("volume %s of %s: %v", volume.Name, p.Name, err)
		}
	}
}

// content is that of a volume. The directories of a host are empty.
func (p *pod) content(ctx context.Context, volume v1.Volume) (files, error) {
	switch source := volume.VolumeSource; {
	case source.Secret != nil:
		return p.secretFiles(ctx, source.Secret)
	case source.ConfigMap != nil:
		return p.configMapFiles(ctx, source.ConfigMap.Name, source.ConfigMap.Items, *source.ConfigMap.DefaultMode)
	case source.Projected != nil:
		all := files{}
		for _, part := range source.Projected.Sources {
			some, err := p.projected(ctx, part, *source.Projected.DefaultMode)
			if err != nil {
				return nil, err
			}
			maps.Copy(all, some)
		}

		return all, nil
	case source.HostPath != nil, source.EmptyDir != nil:
		return files{}, nil
	}

	return nil, errUnknownVolume
}

func (p *pod) secretFiles(ctx context.Context, source *v1.SecretVolumeSource) (files, error) {
	secret, err := p.host.Client().CoreV1().Secrets(p.Namespace).Get(ctx, source.SecretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && source.Optional != nil && *source.Optional {
		return files{}, nil
	}
	if err != nil {
		return nil, err
	}

	return pick(secret.Data, source.Items, *source.DefaultMode)
}

func (p *pod) configMapFiles(ctx context.Context, name string, items []v1.KeyToPath, mode int32) (files, error) {
	if name == "kube-root-ca.crt" { // there is no kube-controller-manager to make it
		return pick(map[string][]byte{"ca.crt": p.host.RESTConfig().CAData}, items, mode)
	}
	object, err := p.host.Client().CoreV1().ConfigMaps(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	data := maps.Clone(object.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, text := range object.Data {
		data[key] = []byte(text)
	}

	return pick(data, items, mode)
}

func (p *pod) projected(ctx context.Context, source v1.VolumeProjection, mode int32) (files, error) {
	switch {
	case source.ServiceAccountToken != nil:
		token, err := p.token(ctx, source.ServiceAccountToken)

		return files{source.ServiceAccountToken.Path: {content: token, mode: mode}}, err
	case source.ConfigMap != nil:
		return p.configMapFiles(ctx, source.ConfigMap.Name, source.ConfigMap.Items, mode)
	case source.DownwardAPI != nil:
		found := files{}
		for _, item := range source.DownwardAPI.Items {
			if item.FieldRef == nil || item.FieldRef.FieldPath != "metadata.namespace" {
				return nil, errUnknownVolume
			}
			found[item.Path] = file{content: []byte(p.Namespace), mode: mode}
		}

		return found, nil
	}

	return nil, errUnknownVolume
}

// token is one of the ServiceAccount for as long as the Pod is there.
func (p *pod) token(ctx context.Context, source *v1.ServiceAccountTokenProjection) ([]byte, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: source.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID},
	}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	token, err := p.host.Client().CoreV1().ServiceAccounts(p.Namespace).CreateToken(ctx, p.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}

	return []byte(token.Status.Token), nil
}

// pick selects keys of an object, all of them if there are no items.
func pick(data map[string][]byte, items []v1.KeyToPath, mode int32) (files, error) {
	found := files{}
	if len(items) == 0 {
		for key, content := range data {
			found[key] = file{content: content, mode: mode}
		}
	}
	for _, item := range items {
		content, ok := data[item.Key]
		if !ok {
			return nil, fmt.Errorf("it has no key %s, its keys are %q", item.Key, slices.Sorted(maps.Keys(data)))
		}
		itemMode := mode
		if item.Mode != nil {
			itemMode = *item.Mode
		}
		found[item.Path] = file{content: content, mode: itemMode}
	}

	return found, nil
}

// writeVolume has a directory hold the files, each a link to ..data, which is a link to the directory
// with all of them: so they change at once.
func writeVolume(dir string, content files) error {
	current := filepath.Join(dir, "..data")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if unchanged(current, content) {
		return nil
	}
	fresh, err := os.MkdirTemp(dir, "..files_")
	if err != nil {
		return err
	}
	for name, one := range content {
		target := filepath.Join(fresh, name)
		if err := os.WriteFile(target, one.content, os.FileMode(one.mode)); err != nil { //nolint:gosec // modes are small
			return err
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	old, err := os.Readlink(current)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Symlink(filepath.Base(fresh), current+"_tmp"); err != nil {
		return err
	}
	if err := os.Rename(current+"_tmp", current); err != nil || old == "" {
		return err
	}

	return os.RemoveAll(filepath.Join(dir, old))
}

// unchanged reports whether the files have the content already. Tokens are always new.
func unchanged(dir string, content files) bool {
	if _, err := os.Stat(dir); err != nil {
		return false
	}
	for name, one := range content {
		found, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || name != "token" && !bytes.Equal(found, one.content) {
			return false
		}
	}

	return true
}
