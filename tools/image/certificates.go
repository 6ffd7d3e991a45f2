package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// bundles are where the systems that people build on keep their CA
// certificates: Debian and Alpine, Fedora, SUSE, macOS.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// certificates are CA certificates in PEM form, and nothing else.
type certificates struct {
	path  string
	pem   []byte
	count int
}

// readCertificates reads the certificates of a file or, without one, of this
// machine.
func readCertificates(path string) (certificates, error) {
	if path != "" {
		return readBundle(path)
	}

	return firstBundle(bundles)
}

// firstBundle reads the first file that there is.
func firstBundle(paths []string) (certificates, error) {
	for _, path := range paths {
		found, err := readBundle(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
	}

	return certificates{}, fmt.Errorf("read CA certificates: this machine has none in %s: "+
		"install them (on Debian: apt-get install ca-certificates) or name a file with -ca-certificates", strings.Join(paths, ", "))
}

// readBundle leaves out whatever is no certificate: comments, and a private key
// that was left there.
func readBundle(path string) (certificates, error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return certificates{}, fmt.Errorf("read CA certificates: %w", err)
	}
	found := certificates{path: path}
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
