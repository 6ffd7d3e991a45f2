package config_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"go.yaml.in/yaml/v3"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

const password = "hunter2-hunter2"

// holder holds secrets in every way that the rules of Secret allow.
type holder struct {
	Plain   config.Secret
	Pointer *config.Secret
	List    []config.Secret
	Map     map[string]config.Secret
	Any     any
}

func newHolder() holder {
	secret := config.Secret(password)

	return holder{
		Plain: secret, Pointer: &secret, List: []config.Secret{secret},
		Map: map[string]config.Secret{"a": secret}, Any: secret,
	}
}

// mustNotShow fails if the password is in the text in any form that a
// person or a program can read it from.
func mustNotShow(t *testing.T, how, text string) {
	t.Helper()
	forms := map[string]string{
		"plain":        password,
		"quoted bytes": strings.Trim(fmt.Sprintf("%d", []byte(password)), "[]"),
		"hex":          hex.EncodeToString([]byte(password)),
		"base64":       base64.RawStdEncoding.EncodeToString([]byte(password))[:16],
	}
	for form, shown := range forms {
		if strings.Contains(strings.ToLower(text), strings.ToLower(shown)) {
			t.Errorf("%s shows the secret (%s): %s", how, form, text)
		}
	}
}

// TestSecretEveryVerb shows FW-CONFIG-9.
func TestSecretEveryVerb(t *testing.T) {
	t.Parallel()
	secret := config.Secret(password)
	for verb := '!'; verb <= '~'; verb++ {
		if verb == 'p' || verb == 'w' {
			continue // not for texts, see Secret
		}
		for _, flags := range []string{"", "+", "#", "-20", "020", " ", "+#.3"} {
			format := "%" + flags + string(verb)
			text := fmt.Sprintf(format, secret)
			mustNotShow(t, format, text)
			mustNotShow(t, format+" of a pointer", fmt.Sprintf(format, &secret))
			if strings.ContainsRune("vsqxXd", verb) && text != "<redacted>" {
				t.Errorf("%s: want <redacted>, got %q", format, text)
			}
		}
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		h := newHolder()
		mustNotShow(t, format+" of a struct", fmt.Sprintf(format, h))
		mustNotShow(t, format+" of a slice", fmt.Sprintf(format, h.List))
		mustNotShow(t, format+" of a map", fmt.Sprintf(format, h.Map))
		mustNotShow(t, format+" in an error", fmt.Errorf("log in: "+format, secret).Error())
	}
	mustNotShow(t, "Sprint", fmt.Sprint(secret, &secret))
	mustNotShow(t, "String", secret.String()+secret.GoString())
	mustNotShow(t, "Join", errors.Join(fmt.Errorf("%w: %v", errors.New("a"), secret)).Error())
	compare(t, "Reveal is the one way", password, secret.Reveal())
}

func TestSecretEncoded(t *testing.T) {
	t.Parallel()
	inJSON, err := json.Marshal(newHolder())
	if err != nil {
		t.Fatal(err)
	}
	mustNotShow(t, "JSON", string(inJSON))
	inYAML, err := yaml.Marshal(newHolder())
	if err != nil {
		t.Fatal(err)
	}
	mustNotShow(t, "YAML", string(inYAML))
	type element struct {
		Secret    config.Secret
		Attribute config.Secret `xml:",attr"`
	}
	inXML, err := xml.Marshal(element{password, password})
	if err != nil {
		t.Fatal(err)
	}
	mustNotShow(t, "XML", string(inXML))
	for _, text := range []string{string(inJSON), string(inYAML), string(inXML)} {
		if !strings.Contains(text, "redacted") {
			t.Errorf("want <redacted> where secrets are, got %s", text)
		}
	}
}

func TestSecretLogged(t *testing.T) {
	t.Parallel()
	secret := config.Secret(password)
	var out bytes.Buffer
	loggers := map[string]klog.Logger{
		"text": textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out), textlogger.Verbosity(10))),
		"json": funcr.NewJSON(func(line string) { out.WriteString(line) }, funcr.Options{Verbosity: 10}),
	}
	for name, logger := range loggers {
		out.Reset()
		h := newHolder()
		logger.V(10).Info("Secrets", "value", secret, "pointer", &secret, "list", h.List, "struct", h, "struct pointer", &h)
		logger.Error(fmt.Errorf("log in with %v", secret), "Failed", "secret", secret)
		logger.WithValues("secret", secret).Info("More")
		if out.Len() == 0 {
			t.Fatalf("%s: nothing was logged", name)
		}
		mustNotShow(t, name, out.String())
	}
	out.Reset()
	slog.New(slog.NewJSONHandler(&out, nil)).Info("Secret", "value", secret, "list", newHolder().List)
	slog.New(slog.NewTextHandler(&out, nil)).Info("Secret", "value", secret, "list", newHolder().List)
	mustNotShow(t, "slog", out.String())
}

func TestSecretDecodes(t *testing.T) {
	t.Parallel()
	var got struct{ A config.Secret }
	if err := json.Unmarshal([]byte(`{"A": "`+password+`"}`), &got); err != nil || got.A.Reveal() != password {
		t.Errorf("JSON: got %d characters, %v", len(got.A), err)
	}
}
