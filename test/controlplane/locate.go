package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// The environment variables that name a directory with ready-made binaries:
// BinDirVariable all that tools/build builds, AssetsVariable what setup-envtest
// of controller-runtime fetches. When one is set, nothing else is looked at.
const (
	BinDirVariable = "MULTICLOUD_CCM_BIN_DIR"
	AssetsVariable = "KUBEBUILDER_ASSETS"
)

// KubernetesVersion is the release that tools/build builds kube-apiserver and
// kubectl from, and the one that registered nodes report. Ready-made binaries
// may be of another patch release.
const KubernetesVersion = "v1.37.1"

const etcdVersion = "v3.7.3"

// folders maps each binary to the folder of the cache where tools/build puts it.
var folders = map[string]string{
	"etcd":           "etcd-" + etcdVersion,
	"kube-apiserver": "kubernetes-" + KubernetesVersion,
	"kubectl":        "kubernetes-" + KubernetesVersion,
}

// Locate returns the absolute path of etcd, kube-apiserver or kubectl: in the
// directory that BinDirVariable or AssetsVariable names, else where
// setup-envtest stores the same minor version, else in the user's cache
// directory, where make tools puts it. The error names the command to run.
func Locate(name string) (string, error) {
	folder, ok := folders[name]
	if !ok {
		return "", fmt.Errorf("find binary %q: not one of the control plane", name)
	}
	for _, variable := range []string{BinDirVariable, AssetsVariable} {
		if dir := os.Getenv(variable); dir != "" {
			return locateGiven(variable, dir, name)
		}
	}
	if path := locateFetched(name); path != "" {
		return path, nil
	}
	cache, err := userDir("XDG_CACHE_HOME", ".cache")
	if err != nil {
		return "", fmt.Errorf("find binary %s: %w", name, err)
	}
	path := filepath.Join(cache, "multicloud-ccm", folder, name)
	if err := executable(path); err != nil {
		return "", fmt.Errorf("find binary %s: %w; run `make tools` first", path, err)
	}

	return path, nil
}

func locateGiven(variable, dir, name string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("find binary %s: %s=%s is not an absolute path", name, variable, dir)
	}
	path := filepath.Join(dir, name)
	if err := executable(path); err != nil {
		return "", fmt.Errorf("find binary %s: %w; put it there, or unset %s and run `make tools`", path, err, variable)
	}

	return path, nil
}

// locateFetched returns the path of the binary in the newest patch release of
// the minor version of KubernetesVersion that setup-envtest has stored, or "".
func locateFetched(name string) string {
	data, err := userDir("XDG_DATA_HOME", ".local/share")
	if err != nil {
		return ""
	}
	release := strings.TrimPrefix(KubernetesVersion, "v")
	prefix, suffix := release[:strings.LastIndex(release, ".")+1], "-"+runtime.GOOS+"-"+runtime.GOARCH
	store := filepath.Join(data, "kubebuilder-envtest", "k8s")
	entries, _ := os.ReadDir(store) // one that cannot be read has nothing for us
	newest, found := -1, ""
	for _, entry := range entries {
		patch, fits := strings.CutPrefix(strings.TrimSuffix(entry.Name(), suffix), prefix)
		number, err := strconv.Atoi(patch)
		path := filepath.Join(store, prefix+patch+suffix, name)
		if fits && err == nil && number > newest && executable(path) == nil {
			newest, found = number, path
		}
	}

	return found
}

// userDir returns the directory that an XDG variable names, or its default
// below the home directory, on every operating system alike. tools/build does
// the same.
func userDir(variable, below string) (string, error) {
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}

	return filepath.Join(home, below), nil
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return errors.New("not an executable file")
	}

	return nil
}
