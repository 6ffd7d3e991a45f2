package vsphere

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
)

// isUnauthorized reports whether a REST call was refused for lack of a session.
func isUnauthorized(err error) bool {
	return err != nil && rest.IsStatusError(err, http.StatusUnauthorized)
}

func TestIdleSessionsExpire(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	idle, busy := login(t, v), login(t, v)
	loginREST(t, v, idle)
	w := startWatch(t, busy)
	w.pageIn(t)
	done := make(chan error)
	go func() {
		_, _, err := w.next(t.Context())
		done <- err
	}()
	eventually(t, v.isPolling)
	v.mu.Lock()
	v.sessions.now = func() time.Time { return time.Now().Add(sessionTimeout + time.Minute) }
	v.mu.Unlock()
	left := v.Sessions()
	if len(left) != 1 || left[0].Views != 1 {
		t.Errorf("only the session with a long poll is busy, left: %+v", left)
	}
	if err := v.VM("one").PowerOff(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the long poll: %v", err)
	}
}

func solutionUser(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}

	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
