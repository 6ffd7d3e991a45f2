package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/keyutil"
)

// validity is longer than any control plane runs.
const validity = 365 * 24 * time.Hour

// authority signs the certificates of one control plane.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// pair is a certificate with its key, both as PEM.
type pair struct {
	certificate, key []byte
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make authority %s: %w", name, err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		KeyUsage:              x509.KeyUsageCertSign,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	certificate, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("make authority %s: %w", name, err)
	}

	return &authority{certificate: certificate, key: key}, nil
}

// issue makes a pair for the API server or for one of its clients.
func (a *authority) issue(subject pkix.Name, use x509.ExtKeyUsage, ips ...net.IP) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, fmt.Errorf("issue certificate of %s: %w", subject.CommonName, err)
	}
	template := &x509.Certificate{
		Subject:     subject,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{use},
		IPAddresses: ips,
	}
	certificate, err := sign(template, a.certificate, key, a.key)
	if err != nil {
		return pair{}, fmt.Errorf("issue certificate of %s: %w", subject.CommonName, err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return pair{}, fmt.Errorf("issue certificate of %s: %w", subject.CommonName, err)
	}

	return pair{certificate: encode(certificate), key: keyPEM}, nil
}

// sign completes the template and has the parent's key sign it.
func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, err
	}

	return x509.ParseCertificate(der)
}

func encode(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}
