package controlplane

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/multicloud-ccm/multicloud-ccm/test/loopback"
)

// tokenLifetime outlives every test and a demo that is left running for a day.
const tokenLifetime = 24 * time.Hour

func adminConfig(port *loopback.Port, creds credentials) *rest.Config {
	return &rest.Config{
		Host: "https://" + port.String(),
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   creds.authority,
			CertData: creds.admin.certificate,
			KeyData:  creds.admin.key,
		},
	}
}

// writeKubeconfig writes a file that needs no other file.
func writeKubeconfig(path string, config *rest.Config) error {
	const name = "controlplane"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthorityData: config.CAData,
	}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}

	return nil
}

// ServiceAccountKubeconfig returns the path of a kubeconfig that acts as the
// ServiceAccount, through a token that the API server issued for a day. The
// account is created if it is not there; its namespace must be.
func (cp *ControlPlane) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	accounts := cp.client.CoreV1().ServiceAccounts(namespace)
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := accounts.Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create service account %s/%s: %w", namespace, name, err)
	}

	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLifetime.Seconds()))},
	}
	token, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request token of service account %s/%s: %w", namespace, name, err)
	}

	config := rest.AnonymousClientConfig(cp.admin)
	config.BearerToken = token.Status.Token
	path := filepath.Join(cp.dir, namespace+"_"+name+".kubeconfig")
	if err := writeKubeconfig(path, config); err != nil {
		return "", fmt.Errorf("service account %s/%s: %w", namespace, name, err)
	}

	return path, nil
}
