package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/helm"
)

// valuesName is the first line of a block of YAML that has values, with the name by which
// commands of the guide refer to it. "Added" values are for any values file.
var valuesName = regexp.MustCompile(`^# ([a-z-]+\.yaml)(, added)?\n`)

// block is a fenced block of a guide.
type block struct {
	language, text string
}

// blocks returns the fenced blocks of a page. Those in lists are indented.
func blocks(page string) []block {
	var list []block
	var open *block
	indent := ""
	for line := range strings.Lines(page) {
		fence := strings.TrimLeft(line, " ")
		switch {
		case open != nil && strings.TrimSpace(line) == "```":
			list, open = append(list, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent)
		case strings.HasPrefix(fence, "```"):
			indent = line[:len(line)-len(fence)]
			open = &block{language: strings.TrimSpace(strings.TrimPrefix(fence, "```"))}
		}
	}

	return list
}

// helmCommands returns the commands of a shell block that render this chart, a list of
// words each.
func helmCommands(text string) [][]string {
	var commands [][]string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "helm" || words[1] != "install" && words[1] != "upgrade" && words[1] != "template" {
			continue
		}
		commands = append(commands, words)
	}

	return commands
}

// release returns what a command renders with the values files of its page.
func release(t *testing.T, dir string, words []string, files map[string]string) helm.Release {
	t.Helper()
	r := helm.Release{Program: helm.Three}
	for i, word := range words[:len(words)-1] {
		next := strings.Trim(words[i+1], `"`)
		switch word {
		case "--namespace":
			r.Namespace = next
		case "--set":
			r.Set = append(r.Set, os.Expand(strings.ReplaceAll(next, `"`, ""), func(string) string { return "registry.example.com" }))
		case "--values":
			text, ok := files[next]
			if next == imageFile {
				text, ok = imageValues, true
			}
			if !ok {
				t.Fatalf("%q: no block before it begins with %q", words, "# "+next)
			}
			path := filepath.Join(dir, filepath.Base(next))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			r.Files = append(r.Files, path)
		}
	}

	return r
}

// imageFile is the file with the values of the image that make image makes, and imageValues is
// what tools/image writes into it.
const (
	imageFile   = "bin/image.yaml"
	imageTag    = "v0.0.0-f424e96f"
	imageValues = "image:\n  registry: \"localhost\"\n  repository: \"multicloud-controller-manager\"\n  tag: \"" + imageTag + "\"\n"
)

// wantImage checks that a command installs the image of make image: a clone without a tag makes another
// one than the chart has by default.
func wantImage(t *testing.T, words []string, manifest []byte) {
	t.Helper()
	if !slices.Contains(words, helm.Chart) { // of a registry, which has the image of the chart
		return
	}
	for _, object := range objects(t, manifest) {
		for _, image := range imagesOf(object) {
			if !strings.HasSuffix(image, "/"+ccm.Name+":"+imageTag) {
				t.Errorf("%q: %s has the image %s", words, object.GetKind(), image)
			}
		}
	}
}

// imagesOf returns the images of the containers of an object.
func imagesOf(object *unstructured.Unstructured) (images []string) {
	for _, path := range [][]string{{"spec", "containers"}, {"spec", "template", "spec", "containers"}} {
		containers, _, _ := unstructured.NestedSlice(object.Object, path...)
		for _, container := range containers {
			image, _, _ := unstructured.NestedString(container.(map[string]any), "image")
			images = append(images, image)
		}
	}

	return images
}

// Each block of values in a guide renders, and so does each helm command with the blocks
// before it.
func TestGuides(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(top, "docs", "guides", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, filepath.Join(top, "README.md"))
	found := map[string]int{}
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list := blocks(string(text))
		found["values"] += strings.Count(string(text), "```yaml\n# ")
		for _, b := range list {
			found["commands"] += len(helmCommands(b.text))
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			renderGuide(t, list)
		})
	}
	if found["values"] < 10 || found["commands"] < 10 {
		t.Errorf("the guides have %v, the test does not recognize them", found)
	}
}

func renderGuide(t *testing.T, list []block) {
	t.Helper()
	files, dir := map[string]string{}, t.TempDir()
	var manifests []string
	add := func(manifest []byte) {
		path := filepath.Join(dir, fmt.Sprintf("%d.manifest", len(manifests)))
		if err := os.WriteFile(path, manifest, 0o600); err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, path)
	}
	for _, b := range list {
		switch b.language {
		case "yaml":
			name := valuesName.FindStringSubmatch(b.text)
			if name == nil {
				continue
			}
			files[name[1]] = b.text
			var set []string
			if name[2] != "" {
				set = []string{"provider=aws"}
			} else if !strings.Contains(b.text, "\nprovider:") {
				continue // commands set the provider
			}
			add(template(t, helm.Release{Values: b.text, Set: set}))
		case "sh":
			for _, words := range helmCommands(b.text) {
				manifest := template(t, release(t, dir, words, files))
				wantImage(t, words, manifest)
				add(manifest)
			}
		}
	}
	if len(manifests) > 0 {
		conform(t, manifests...)
	}
}

// Helm 3 does not wait for one Pod of a DaemonSet: a command that waits for Helm is followed by one that waits for the rollout.
func TestGuidesWaitForRollout(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(top, "docs", "guides", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(pages, filepath.Join(top, "README.md"), filepath.Join(top, helm.Chart, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks(string(text)) {
			commands := slices.DeleteFunc(helmCommands(b.text), func(words []string) bool { return !slices.Contains(words, "--wait") })
			for _, words := range commands {
				name := slices.DeleteFunc(slices.Clone(words[2:]), func(word string) bool { return strings.HasPrefix(word, "-") })[0]
				if !regexp.MustCompile(`(?m)^kubectl .*rollout status \w+/` + name + "-" + ccm.Name).MatchString(b.text) {
					t.Errorf("%s: no rollout status after %q", filepath.Base(path), words)
				}
			}
			if n := strings.Count(b.text, "rollout status"); n < len(commands) {
				t.Errorf("%s: %d times rollout status after %q", filepath.Base(path), n, commands)
			}
		}
	}
}

// A page with commands for several clusters names the cluster of each one.
func TestFleetNamesClusters(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(top, "docs", "guides", "hybrid-fleet.md"))
	if err != nil {
		t.Fatal(err)
	}
	clusters := map[string]bool{}
	for _, b := range blocks(string(text)) {
		for _, words := range helmCommands(b.text) {
			i := slices.Index(words, "--kube-context")
			if i < 0 || !slices.Contains(words, "clusterName="+words[i+1]) {
				t.Errorf("%q does not name its cluster by --kube-context and clusterName", words)

				continue
			}
			clusters[words[i+1]] = true
		}
	}
	if len(clusters) < 3 {
		t.Errorf("the commands are for %v, want three clusters", clusters)
	}
}
