package nsxt

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"slices"
	"time"
)

// Principal is an identity that logs in with a certificate. What it makes is protected from
// others ([docs] NSX-T 2.3, principal identity).
type Principal struct {
	Name string
	// CertificatePEM and KeyPEM are what a client has; the manager knows the certificate.
	CertificatePEM, KeyPEM []byte
}

// NewPrincipal makes an identity with a new certificate.
func NewPrincipal(name string) (Principal, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Principal{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return Principal{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)

	return Principal{
		Name:           name,
		CertificatePEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		KeyPEM:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, err
}

// loginByCertificate finds the identity of a certificate.
func (c *Cloud) loginByCertificate(certificate *x509.Certificate) (caller, error) {
	i := slices.IndexFunc(c.spec.Principals, func(p Principal) bool {
		block, _ := pem.Decode(p.CertificatePEM)

		return block != nil && bytes.Equal(block.Bytes, certificate.Raw)
	})
	if i < 0 {
		return caller{}, newError(http.StatusInternalServerError, 99) // [operator] ClientCertificateNotTrusted
	}

	return caller{c.spec.Principals[i].Name, true}, nil
}

// Protect makes an object that of a principal identity.
func (c *Cloud) Protect(path, principal string) error {
	return c.edit(path, func(o *object) error {
		if principal == "" {
			return errors.New("a principal is required")
		}
		o.principal = principal

		return nil
	})
}

// The values of _protection ([SDK]).
const (
	notProtected    = "NOT_PROTECTED"
	requireOverride = "REQUIRE_OVERRIDE"
	protected       = "PROTECTED"
)

// protection returns what an object is for a caller.
func (o *object) protection(who caller) string {
	switch {
	case o.principal == "" || who.principal && who.name == o.principal:
		return notProtected
	case who.principal:
		return protected
	}

	return requireOverride
}

// checkProtection refuses to change what another identity made ([SDK] _protection).
func (k *call) checkProtection(o *object) error {
	switch o.protection(k.caller) {
	case notProtected:
		return nil
	case requireOverride:
		if k.request.Header.Get("X-Allow-Overwrite") == "true" {
			return nil
		}
	}

	return &apiError{
		status: http.StatusForbidden, code: codeForeign, module: modulePolicy,
		message: "Principal '" + k.caller.name + "' must not change an object of '" + o.principal + "'.",
	}
}
