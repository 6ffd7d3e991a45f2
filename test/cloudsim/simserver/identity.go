package simserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

const certificateLife = 10 * 365 * 24 * time.Hour

// identity is the certificate that a server shows.
type identity struct{ certificate tls.Certificate }

func newIdentity(given *tls.Certificate, ip net.IP) (*identity, error) {
	if given != nil {
		if len(given.Certificate) == 0 {
			return nil, errors.New("use certificate: it is empty")
		}

		return &identity{*given}, nil
	}
	certificate, err := selfSigned(ip)
	if err != nil {
		return nil, fmt.Errorf("make certificate for %s: %w", ip, err)
	}

	return &identity{certificate}, nil
}

// selfSigned makes a certificate that is its own CA, so that one file serves a
// client as trust anchor.
func selfSigned(ip net.IP) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: ip.String(), Organization: []string{"Simulated cloud"}},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(certificateLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses:           []net.IP{ip, net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		DNSNames:              []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, err
	}

	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

func (i *identity) pem() []byte {
	var out bytes.Buffer
	for _, der := range i.certificate.Certificate {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}

	return out.Bytes()
}

func (i *identity) thumbprints() (sha1Hex, sha256Hex string) {
	leaf := i.certificate.Certificate[0]
	short, long := sha1.Sum(leaf), sha256.Sum256(leaf)

	return colons(short[:]), colons(long[:])
}

func colons(sum []byte) string {
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}

	return strings.Join(parts, ":")
}
