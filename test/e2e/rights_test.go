package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// instanceLabel selects the objects of the release that grants the rights.
const instanceLabel = "app.kubernetes.io/instance=" + account

// rights are the values that the chart's permissions depend on, as --set takes them.
type rights string

// rightsOf returns the rights of a process with a cloud-config and arguments: those
// that the chart grants for the same values. A process that is to fail at its start
// may have no provider.
func (c *cluster) rightsOf(cloudConfig string, args []string) rights {
	provider := "aws"
	if info, err := os.Stat(cloudConfig); err == nil && info.Mode().IsRegular() { // a pipe is for the process
		if file, err := config.Read(cloudConfig); err == nil {
			if name, err := file.Provider(); err == nil && name != "" {
				provider = name
			}
		}
	}
	values := []string{"rbac.only=true", "serviceAccount.name=" + account}
	routes, blocks := false, ""
	for _, arg := range args {
		flag, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch flag {
		case "cloud-provider":
			provider = value
		case "use-service-account-credentials":
			values = append(values, "useServiceAccountCredentials=true")
		case "controllers":
			values = append(values, "controllers={"+value+"}")
		case "configure-cloud-routes":
			routes = value != "false"
		case "cluster-cidr":
			blocks = value
		}
	}
	if routes {
		values = append(values, "clusterCIDR="+strings.ReplaceAll(blocks, ",", `\,`))
	}
	if c.secret != "" {
		values = append(values, "vsphere.credentials.existingSecret.name="+c.secret, "vsphere.credentials.existingSecret.namespace="+secretNamespace)
	}

	return rights(strings.Join(append(values, "provider="+provider), "\n"))
}

// manifests has the rendering of each rights.
var manifests sync.Map // rights → func() ([]byte, error)

// manifest returns the permissions that the chart renders.
func (r rights) manifest() ([]byte, error) {
	render, _ := manifests.LoadOrStore(r, sync.OnceValues(func() ([]byte, error) {
		return helm.Release{Program: helm.Three, Set: strings.Split(string(r), "\n")}.Template(context.Background())
	}))

	return render.(func() ([]byte, error))()
}

// grant replaces the permissions of the account of processes by those that the chart
// has for a process.
func (c *cluster) grant(t *testing.T, wanted rights) {
	t.Helper()
	if c.granted == wanted {
		return
	}
	manifest, err := wanted.manifest()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.revoke(t.Context()), c.ControlPlane.Apply(t.Context(), manifest)); err != nil {
		t.Fatal(err)
	}
	c.granted = wanted
}

// revoke deletes all permissions that were granted.
func (c *cluster) revoke(ctx context.Context) error {
	if c.granted == "" {
		return nil
	}
	access, granted := c.Client().RbacV1(), metav1.ListOptions{LabelSelector: instanceLabel}
	errs := []error{
		access.ClusterRoleBindings().DeleteCollection(ctx, metav1.DeleteOptions{}, granted),
		access.ClusterRoles().DeleteCollection(ctx, metav1.DeleteOptions{}, granted),
	}
	for _, namespace := range []string{systemNamespace, secretNamespace} {
		errs = append(errs,
			access.RoleBindings(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, granted),
			access.Roles(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, granted))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("revoke permissions: %w", err)
	}

	return nil
}
