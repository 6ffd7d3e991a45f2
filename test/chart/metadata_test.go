package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

const (
	// filesOfProject and rawFiles are where the files of this repository are.
	filesOfProject = "https://github.com/multicloud-ccm/multicloud-ccm/blob/main/"
	rawFiles       = "https://raw.githubusercontent.com/multicloud-ccm/multicloud-ccm/main/"
)

// metadata is what the tests read of Chart.yaml.
type metadata struct {
	Version, AppVersion, Icon, Home string
	Sources                         []string
	Annotations                     map[string]string
}

func readMetadata(t *testing.T) metadata {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, helm.Chart, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var m metadata
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}

	return m
}

// categories are those of Artifact Hub.
var categories = regexp.MustCompile(
	`^(ai-machine-learning|database|integration-delivery|monitoring-logging|networking|security|storage|streaming-messaging)$`)

// TestMetadata: Chart.yaml has what a list of charts shows, and its annotations are those that Artifact
// Hub documents (https://artifacthub.io/docs/topics/annotations/helm/).
func TestMetadata(t *testing.T) {
	t.Parallel()
	m := readMetadata(t)
	version := regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	if app, ok := strings.CutPrefix(m.AppVersion, "v"); !version.MatchString(m.Version) || !ok || !version.MatchString(app) {
		t.Errorf("version is %s, appVersion %s: want 1.2.3 and v1.2.3", m.Version, m.AppVersion)
	}
	if m.Home == "" || len(m.Sources) == 0 {
		t.Error("home or sources are missing")
	}
	for name, value := range m.Annotations {
		switch name {
		case "artifacthub.io/category":
			if !categories.MatchString(value) {
				t.Errorf("Artifact Hub has no category %s", value)
			}
		case "artifacthub.io/license":
			if value != "Apache-2.0" {
				t.Errorf("the license is %s", value)
			}
		case "artifacthub.io/operator":
			if value != "true" && value != "false" {
				t.Errorf("%s is %s", name, value)
			}
		case "artifacthub.io/links":
			testLinks(t, value)
		default:
			t.Errorf("%s is not known, or comes from tools/image/release", name)
		}
	}
	testIcon(t, m.Icon)
}

// testLinks checks that links lead to files of this repository.
func testLinks(t *testing.T, text string) {
	t.Helper()
	var links []struct{ Name, URL string }
	if err := yaml.Unmarshal([]byte(text), &links); err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		path, ok := strings.CutPrefix(link.URL, filesOfProject)
		if !ok || link.Name == "" {
			t.Errorf("want a name and %s…, got %+v", filesOfProject, link)
		}
		if _, err := os.Stat(filepath.Join(top, path)); err != nil {
			t.Errorf("link %s: %v", link.Name, err)
		}
	}
	if len(links) == 0 {
		t.Error("there are no links")
	}
}

// testIcon checks that the icon is a file of this repository, and an SVG image.
func testIcon(t *testing.T, icon string) {
	t.Helper()
	path, ok := strings.CutPrefix(icon, rawFiles)
	if _, err := url.ParseRequestURI(icon); err != nil || !ok {
		t.Fatalf("want %s…, got %q, error %v", rawFiles, icon, err)
	}
	file, err := os.Open(filepath.Join(top, path))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var root string
	for decoder := xml.NewDecoder(file); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && root == "" {
			root = start.Name.Space + " " + start.Name.Local
		}
	}
	if root != "http://www.w3.org/2000/svg svg" {
		t.Errorf("want an SVG image, got %q", root)
	}
}
