package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificates are CA certificates in PEM form, and nothing else.
type certificates struct {
	// source is where they come from.
	source string
	pem    []byte
	count  int
}

// readCertificates reads the certificates of a file or, without one, returns those that
// Mozilla trusts for servers, in the version that go.mod pins.
func readCertificates(path string) (certificates, error) {
	if path != "" {
		return readBundle(path)
	}

	return publicRoots()
}

// publicRoots returns the roots of Mozilla's NSS list. A root that is trusted only for
// certificates issued before a date is left out: a PEM file cannot express that.
func publicRoots() (certificates, error) {
	found := certificates{source: "golang.org/x/crypto/x509roots"}
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return certificates{}, fmt.Errorf("write CA certificates: %w", err)
		}
		found.count++
	}
	found.pem = text.Bytes()

	return found, nil
}

// readBundle leaves out whatever is no certificate: comments, and a private key
// that was left there.
func readBundle(path string) (certificates, error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return certificates{}, fmt.Errorf("read CA certificates: %w", err)
	}
	found := certificates{source: path}
	var text bytes.Buffer
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			continue // our own binary could not use it either
		}
		block.Headers = nil
		if err := pem.Encode(&text, block); err != nil {
			return certificates{}, fmt.Errorf("read CA certificates of %s: %w", path, err)
		}
		found.count++
	}
	if found.count == 0 {
		return certificates{}, fmt.Errorf("read CA certificates: %s holds no certificate in PEM form", path)
	}
	found.pem = text.Bytes()

	return found, nil
}
