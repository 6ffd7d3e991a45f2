package openstack

import (
	"crypto/tls"
	"crypto/x509"
)

// checkTLS validates certificates and keys, and the files that have them.
func (r *resolver) checkTLS() {
	g := r.config.Global
	if g.TLSInsecure != "" && g.TLSInsecure != "true" && g.TLSInsecure != "false" {
		r.warnf("tls-insecure", "%q has no effect: only true has one", g.TLSInsecure)
	}
	switch {
	case g.CAFile != "":
		if g.CAFileContents != "" {
			r.warnf("cafilecontents", "is ignored: %s is set", r.spelled("ca-file"))
		}
		r.checkCA("ca-file", r.content("ca-file", g.CAFile))
	case g.CAFileContents != "":
		r.checkCA("cafilecontents", []byte(g.CAFileContents))
	}
	switch {
	case (g.CertFile == "") != (g.KeyFile == ""):
		given, missing := "cert-file", "key-file"
		if g.CertFile == "" {
			given, missing = missing, given
		}
		r.warnf(given, "is ignored without %s", missing)
	case g.CertFile != "":
		r.checkKeyPair(r.content("cert-file", g.CertFile), r.content("key-file", g.KeyFile))
	}
}

// content reads the file that a key names. It is nil if that is not possible, which is
// reported, and if files are not read.
func (r *resolver) content(key, path string) []byte {
	if r.env.readFile == nil {
		return nil
	}
	data, err := r.env.readFile(path)
	if err != nil {
		r.errorf(key, "read %s: %v", path, err)

		return nil
	}
	if data == nil {
		data = []byte{}
	}

	return data
}

func (r *resolver) checkCA(key string, pem []byte) {
	if pem != nil && !x509.NewCertPool().AppendCertsFromPEM(pem) {
		source := ""
		if key == "ca-file" {
			source = r.config.Global.CAFile + " "
		}
		r.errorf(key, "%shas no certificate in PEM format", source)
	}
}

func (r *resolver) checkKeyPair(certificate, key []byte) {
	if certificate == nil || key == nil {
		return
	}
	if _, err := tls.X509KeyPair(certificate, key); err != nil {
		g := r.config.Global
		r.errorf("cert-file", "%s and %s, which is the key-file: %v", g.CertFile, g.KeyFile, err)
	}
}
