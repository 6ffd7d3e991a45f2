package session_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential/credentialtest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// logCapture is everything that is logged.
type logCapture struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (c *logCapture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.buf.Write(p)
}

func (c *logCapture) take() string {
	klog.Flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.buf.Reset()

	return c.buf.String()
}

// captureLogs captures all logs until the test ends.
func captureLogs(t *testing.T, contextual bool) *logCapture {
	t.Helper()
	state := klog.CaptureState()
	t.Cleanup(func() {
		klog.EnableContextualLogging(true)
		state.Restore()
	})
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	must(t, flags.Parse([]string{"-v=10", "-logtostderr=false", "-stderrthreshold=FATAL", "-one_output"}))
	klog.EnableContextualLogging(contextual)
	c := &logCapture{}
	klog.SetOutput(c)

	return c
}

// dumpLine is one line of a hex dump: an offset and up to 16 bytes.
var dumpLine = regexp.MustCompile(`[0-9a-f]{8}  ((?:[0-9a-f]{2} {1,2}){1,16})`)

// forms returns the forms in which a text contains a secret.
func forms(text, secret string) []string {
	var dumped strings.Builder
	for _, line := range dumpLine.FindAllStringSubmatch(text, -1) {
		dumped.WriteString(strings.ReplaceAll(line[1], " ", ""))
	}
	var found []string
	look := func(form, in, what string) {
		if strings.Contains(in, what) {
			found = append(found, form)
		}
	}
	look("plain", text, secret)
	look("hex", strings.ToLower(text), hex.EncodeToString([]byte(secret)))
	look("hex dump", dumped.String(), hex.EncodeToString([]byte(secret)))
	look("numbers", text, strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]"))
	for shift := range 3 {
		for name, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64 URL": base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
			// The characters that hold bits of the secret alone.
			look(name, text, encoded[(shift*8+5)/6:(shift+len(secret))*8/6])
		}
	}

	return found
}

// No password reaches a log at any verbosity, in any form: neither that of a
// Secret that client-go reads, nor one that is sent, refused or under a wrong key. It
// does not matter whether contextual logging, which is a feature gate, is on.
//
// The test is not parallel: it takes over the logs of the process.
func TestNoSecretIsLogged(t *testing.T) {
	for _, contextual := range []bool{true, false} {
		for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			t.Run(fmt.Sprintf("%s,contextual=%t", contentType, contextual), func(t *testing.T) {
				log := captureLogs(t, contextual)
				api := credentialtest.NewAPIServer(t, secretNamespace, secretName)
				client := api.Client(t, contentType)

				const control = "Control+Marker/Of-The_Test"
				api.Put("vc.username", "u", "vc.password", control)
				_, err := client.CoreV1().Secrets(secretNamespace).List(t.Context(), metav1.ListOptions{
					FieldSelector: "metadata.name=" + secretName,
				})
				must(t, err)
				if len(forms(log.take(), control)) == 0 {
					t.Fatal("the typed client logs no secret: this test would find nothing")
				}

				markers := useCredentials(t, api, credential.NewSecret(client.CoreV1().RESTClient(), secretNamespace, secretName, session.Parse), log)
				text := log.take()
				if !strings.Contains(text, "Logged in") {
					t.Error("nothing was logged of the login: the capture does not work")
				}
				for _, marker := range markers {
					if shown := forms(text, marker); len(shown) > 0 {
						t.Errorf("the log shows %q as %v", marker, shown)
					}
				}
			})
		}
	}
}

// useCredentials does everything that uses credentials, and returns all
// that must not be logged. The errors of callers are logged too.
func useCredentials(t *testing.T, api *credentialtest.APIServer, source *credential.Secret[session.Credentials], log *logCapture) []string {
	t.Helper()
	const (
		first     = "First+Marker/Of-The_Test"
		second    = "Second+Marker/Of-The_Test"
		refused   = "Refused+Marker/Of-The_Test"
		unknown   = "Unknown+Marker/Of-The_Test"
		misplaced = "Misplaced+Marker/Of-The_Test"
	)
	b := newFixture(t, vsphere.VCenterSpec{Password: first})
	api.Put(b.dotted(first)...)
	ctx, cancel := context.WithCancel(bounded(t))
	done := make(chan struct{})
	go func() {
		defer close(done)
		source.Run(ctx)
	}()
	s := b.open(t, session.Options{Clock: b.clock}, source)
	must(t, errors.Join(s.SOAP(ctx, find), s.REST(ctx, list)))
	eventually(t, "watch", func() bool { return api.Watches() > 0 })

	b.SetPassword(second)
	api.Put(b.dotted(second)...)
	eventually(t, "rotation", func() bool { return b.Count("Login") == 2 && b.Count("RESTLogin") == 2 })
	api.Put(b.dotted(refused)...)
	eventually(t, "refusal", func() bool { return b.Count("Login") == 3 })
	b.SetPassword("none that is known")
	b.TerminateSessions()
	err := s.SOAP(ctx, find)
	if !errors.Is(err, apierr.ErrDenied) {
		t.Errorf("SOAP() = %v, want %v", err, apierr.ErrDenied)
	}
	fmt.Fprintf(log, "%v %+v %#v\n", err, err, err)

	b.SetPassword(second)
	b.clock.Step(login.DefaultLimits().Interval)
	api.Put(append(b.dotted(second), "notes", unknown, "server_a", misplaced)...)
	eventually(t, "complete credentials", func() bool { return s.SOAP(ctx, find) == nil })
	c, err := source.Lookup(ctx, b.endpoint.Server)
	fmt.Fprintf(log, "%v %+v %#v %v\n", c, c, c, err)
	_, err = source.Lookup(ctx, "another")
	fmt.Fprintf(log, "%v %+v\n", err, err)
	klog.FromContext(ctx).Info("Credentials", "value", c, "error", err)
	must(t, s.Close(ctx))
	cancel()
	<-done

	return slices.Clip([]string{first, second, refused, unknown, misplaced, credentialtest.Token})
}
