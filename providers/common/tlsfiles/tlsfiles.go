// Package tlsfiles makes the TLS settings of a client out of files that a cloud-config
// names.
//
// What it promises: files are read when the settings are made, so that a file that
// cannot be used is an error at once; a client certificate is read again for each
// connection, so that a renewed one takes effect without a restart.
//
// When not to use it: for SDKs that read such files themselves.
package tlsfiles

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// Files is how connections are secured.
type Files struct {
	// CAFile has certificates in PEM that replace those of the system. CAPEM has them
	// inline, and is used only without a CAFile.
	CAFile, CAPEM string
	// CertFile and KeyFile are a client certificate and its key in PEM. They are used
	// only if both are set, and read again for each connection.
	CertFile, KeyFile string
	// Insecure accepts every certificate.
	Insecure bool
}

// Config reads the files.
func (f Files) Config() (*tls.Config, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: f.Insecure} //nolint:gosec // set by the user
	roots := []byte(f.CAPEM)
	if f.CAFile != "" {
		var err error
		if roots, err = config.ReadFile(f.CAFile); err != nil {
			return nil, fmt.Errorf("read CA file: %w", err)
		}
	}
	if len(roots) > 0 {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(roots) {
			return nil, fmt.Errorf("parse %s: no certificate in PEM", cmp.Or(f.CAFile, "inline CA"))
		}
	}
	if f.CertFile == "" || f.KeyFile == "" {
		return settings, nil
	}
	if _, err := f.keyPair(nil); err != nil {
		return nil, err
	}
	settings.GetClientCertificate = f.keyPair

	return settings, nil
}

// keyPair reads the client certificate and its key.
func (f Files) keyPair(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	certificate, err := config.ReadFile(f.CertFile)
	if err != nil {
		return nil, fmt.Errorf("load client certificate: %w", err)
	}
	key, err := config.ReadFile(f.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("load key of client certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("load client certificate: %w", err)
	}

	return &pair, nil
}
