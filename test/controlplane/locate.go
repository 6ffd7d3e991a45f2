package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// BinDirVariable is the environment variable that names a directory with
// ready-made binaries. When it is set, nothing else is looked at.
const BinDirVariable = "MULTICLOUD_CCM_BIN_DIR"

// KubernetesVersion is the release that kube-apiserver and kubectl come from,
// and the one that registered nodes report.
const KubernetesVersion = "v1.37.1"

const etcdVersion = "v3.7.3"

// folders says where in the cache tools/build puts each binary.
var folders = map[string]string{
	"etcd":           "etcd-" + etcdVersion,
	"kube-apiserver": "kubernetes-" + KubernetesVersion,
	"kubectl":        "kubernetes-" + KubernetesVersion,
}

// Locate returns the absolute path of etcd, kube-apiserver or kubectl: in the
// directory that BinDirVariable names, else in the user's cache directory,
// where make tools puts it. The error says which command to run.
func Locate(name string) (string, error) {
	folder, ok := folders[name]
	if !ok {
		return "", fmt.Errorf("find binary %q: not one that the control plane knows", name)
	}
	if dir := os.Getenv(BinDirVariable); dir != "" {
		return locateGiven(dir, name)
	}
	cache, err := cacheDir()
	if err != nil {
		return "", fmt.Errorf("find binary %s: %w", name, err)
	}
	path := filepath.Join(cache, "multicloud-ccm", folder, name)
	if err := executable(path); err != nil {
		return "", fmt.Errorf("find binary %s: %w; run `make tools` first", path, err)
	}
	return path, nil
}

func locateGiven(dir, name string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("find binary %s: %s=%s is not an absolute path", name, BinDirVariable, dir)
	}
	path := filepath.Join(dir, name)
	if err := executable(path); err != nil {
		return "", fmt.Errorf("find binary %s: %w; put it there, or unset %s and run `make tools`", path, err, BinDirVariable)
	}
	return path, nil
}

// cacheDir is where tools/build writes to, on every operating system alike.
func cacheDir() (string, error) {
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".cache"), nil
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
