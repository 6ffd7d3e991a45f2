package controlplane

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/keyutil"
)

// The files that kube-apiserver reads, below the control plane's directory.
const (
	authorityFile           = "ca.crt"
	servingCertificateFile  = "kube-apiserver.crt"
	servingKeyFile          = "kube-apiserver.key"
	serviceAccountKeyFile   = "service-account.key"
	frontProxyAuthorityFile = "front-proxy-ca.crt"
)

// credentials are what the admin needs to reach the API server.
type credentials struct {
	authority []byte
	admin     pair
}

// writeCredentials makes everything that kube-apiserver and its admin identify
// themselves with, and puts the server's part into dir. The server
// is at ip.
func writeCredentials(dir string, ip net.IP) (credentials, error) {
	cluster, err := newAuthority("kubernetes")
	if err != nil {
		return credentials{}, err
	}
	frontProxy, err := newAuthority("front-proxy")
	if err != nil {
		return credentials{}, err
	}
	serving, err := cluster.issue(pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth, ip)
	if err != nil {
		return credentials{}, err
	}
	// Members of this group may do everything, whatever RBAC allows.
	masters := pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}
	admin, err := cluster.issue(masters, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return credentials{}, err
	}
	serviceAccounts, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return credentials{}, fmt.Errorf("make service account key: %w", err)
	}

	files := map[string][]byte{
		authorityFile:           encode(cluster.certificate),
		servingCertificateFile:  serving.certificate,
		servingKeyFile:          serving.key,
		serviceAccountKeyFile:   serviceAccounts,
		frontProxyAuthorityFile: encode(frontProxy.certificate),
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return credentials{}, fmt.Errorf("write credentials: %w", err)
		}
	}

	return credentials{authority: files[authorityFile], admin: admin}, nil
}
