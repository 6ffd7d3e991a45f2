package e2e

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/process"
)

// host runs Pods as processes, as the kubelet of a node runs them in containers. Four
// things of a container are different for a process: a mount is a directory of the test,
// whose path replaces that of the mount in arguments and variables; the addresses of the
// host are one loopback address, which is the host's alone; the client for the API
// server gets the files of the ServiceAccount from a kubeconfig, because their path is
// fixed; and leases are valid for longer, see longLeases.
type host struct {
	*cluster

	name, address, dir string
	// programs are the binaries of images, by a part of the name of the image.
	programs map[string]string
}

// accountPath is where containers have the files of their ServiceAccount.
const accountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// defaultPort is the port of cloud controller managers.
const defaultPort = 10258

// newHost makes a host with a loopback address of its own, so that hosts of several tests
// can have the same port open.
func (c *cluster) newHost(t *testing.T, name string, programs map[string]string) *host {
	t.Helper()
	address := net.IPv4(127, byte(1+rand.IntN(254)), byte(rand.IntN(256)), byte(1+rand.IntN(254))) //nolint:gosec // not a secret

	return &host{cluster: c, name: name, address: address.String(), dir: t.TempDir(), programs: programs}
}

// pod is a Pod that a host runs.
type pod struct {
	*v1.Pod

	host      *host
	container v1.Container
	template  string // of the workload
	mounts    map[string]string
	process   *process.Process
	restarts  int
	endpoint  string // of the server
	// unauthorized is set when the permissions of the ServiceAccount have been deleted.
	unauthorized bool
}

// start makes a Pod of a template and runs its container.
func (h *host) start(t *testing.T, namespace string, template v1.PodTemplateSpec) *pod {
	t.Helper()
	object := &v1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	object.Namespace, object.Name, object.GenerateName, object.Spec.NodeName = namespace, "", h.name+"-", h.name
	object, err := h.Client().CoreV1().Pods(namespace).Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(object.Spec.Containers) != 1 || len(object.Spec.InitContainers) != 0 {
		t.Fatalf("a host runs Pods of one container, %s has others", object.Name)
	}
	p := &pod{Pod: object, host: h, container: object.Spec.Containers[0], template: fingerprint(t, template), mounts: map[string]string{}}
	for _, volume := range object.Spec.Volumes {
		p.mounts[volume.Name] = filepath.Join(h.dir, object.Name, volume.Name)
	}
	p.refresh(t)
	p.run(t)
	t.Cleanup(func() { p.clear(t) })

	return p
}

// run starts the container.
func (p *pod) run(t *testing.T) {
	t.Helper()
	command := slices.Concat(p.container.Command, p.container.Args)
	if len(p.container.Command) == 0 && !strings.HasPrefix(cmp.Or(append(command, "")...), "/") {
		command = append([]string{"/entrypoint"}, command...) // of the image
	}
	env := p.environment()
	rendered := make([]string, len(command))
	for i, argument := range command {
		rendered[i] = expand(argument, env)
	}
	args := p.translate(rendered[1:])
	if got := p.untranslate(args); !slices.Equal(got, rendered[1:]) {
		t.Fatalf("the arguments of the container are %q, those of the process %q", rendered[1:], args)
	}
	clients := []string{"kubeconfig"}
	if p.Spec.RestartPolicy != v1.RestartPolicyNever { // the Pod of a Job is no server
		args = append(p.serving(args), longLeases...)
		clients = append(clients, "authentication-kubeconfig", "authorization-kubeconfig")
	}
	for _, client := range clients {
		args = append(args, "--"+client+"="+p.kubeconfig(t, env))
	}
	variables := []string{raceOptions, gcOptions}
	for _, variable := range env {
		variables = append(variables, variable.Name+"="+p.translate([]string{variable.Value})[0])
	}
	var err error
	p.process, err = process.Start(process.Spec{
		Name: fmt.Sprintf("%s-%d", p.Name, p.restarts), Binary: p.program(t), Args: args, Env: variables, Dir: p.host.dir,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// program is the binary of the image.
func (p *pod) program(t *testing.T) string {
	t.Helper()
	for part, binary := range p.host.programs {
		if strings.Contains(p.container.Image, part) {
			return binary
		}
	}
	t.Fatalf("there is no binary for the image %s", p.container.Image)

	return ""
}

// environment is that of the container.
func (p *pod) environment() []v1.EnvVar {
	address, port, err := net.SplitHostPort(strings.TrimPrefix(p.host.RESTConfig().Host, "https://"))
	if err != nil {
		panic(err) // the control plane made it
	}
	env := []v1.EnvVar{{Name: "KUBERNETES_SERVICE_HOST", Value: address}, {Name: "KUBERNETES_SERVICE_PORT", Value: port}}
	for _, variable := range p.container.Env {
		variable.Value = expand(variable.Value, env)
		if source := variable.ValueFrom; source != nil && source.FieldRef != nil {
			variable.Value = p.field(source.FieldRef.FieldPath)
		}
		env = append(env, variable)
	}

	return env
}

// field is a field of the Pod that a variable of the container can have.
func (p *pod) field(path string) string {
	switch path {
	case "metadata.name":
		return p.Name
	case "metadata.namespace":
		return p.Namespace
	case "metadata.uid":
		return string(p.UID)
	}
	panic("a host does not know the field " + path)
}

// expand replaces references to variables, such as $(NAME).
func expand(text string, env []v1.EnvVar) string {
	for _, variable := range env {
		text = strings.ReplaceAll(text, "$("+variable.Name+")", variable.Value)
	}

	return text
}

// translate replaces the paths of mounts by those of their directories.
func (p *pod) translate(texts []string) []string {
	translated := slices.Clone(texts)
	for i, text := range translated {
		flag, value, isFlag := strings.Cut(text, "=")
		if !isFlag || !strings.HasPrefix(flag, "--") {
			flag, value, isFlag = "", text, false
		}
		for _, mount := range p.container.VolumeMounts {
			rest, found := strings.CutPrefix(value, mount.MountPath)
			if !found || rest != "" && rest[0] != '/' {
				continue
			}
			translated[i] = p.mounts[mount.Name] + rest
			if isFlag {
				translated[i] = flag + "=" + translated[i]
			}
		}
	}

	return translated
}

// untranslate undoes translate.
func (p *pod) untranslate(texts []string) []string {
	original := slices.Clone(texts)
	for i := range original {
		for _, mount := range p.container.VolumeMounts {
			original[i] = strings.Replace(original[i], p.mounts[mount.Name], mount.MountPath, 1)
		}
	}

	return original
}

// serving has the server listen on the address of the host, on the port of the arguments.
func (p *pod) serving(args []string) []string {
	port := strconv.Itoa(defaultPort)
	args = slices.DeleteFunc(slices.Clone(args), func(argument string) bool { return strings.HasPrefix(argument, "--bind-address=") })
	for _, argument := range args {
		if value, found := strings.CutPrefix(argument, "--secure-port="); found {
			port = value
		}
	}
	p.endpoint = net.JoinHostPort(p.host.address, port)

	return append(args, "--bind-address="+p.host.address)
}

// kubeconfig writes what a client in a container does by itself.
func (p *pod) kubeconfig(t *testing.T, env []v1.EnvVar) string {
	t.Helper()
	var files string
	for _, mount := range p.container.VolumeMounts {
		if mount.MountPath == accountPath {
			files = p.mounts[mount.Name]
		}
	}
	if files == "" {
		t.Fatalf("the container has no files of its ServiceAccount: %+v", p.container.VolumeMounts)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["pod"] = &clientcmdapi.Cluster{Server: expand("https://$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)", env), CertificateAuthority: filepath.Join(files, "ca.crt")}
	config.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(files, "token")}
	config.Contexts["pod"] = &clientcmdapi.Context{Cluster: "pod", AuthInfo: "pod"}
	config.CurrentContext = "pod"
	file := filepath.Join(p.host.dir, p.Name+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}

	return file
}

// awaitStarted waits until the startup probe succeeds. It returns false if the process ends before.
func (p *pod) awaitStarted(t *testing.T) bool {
	t.Helper()
	target := "/healthz"
	if probe := p.container.StartupProbe; probe != nil {
		target = probe.HTTPGet.Path
		if port := p.portOf(probe.HTTPGet.Port); port != p.endpoint[strings.LastIndex(p.endpoint, ":")+1:] {
			t.Errorf("the startup probe is for port %s, the server has %s", port, p.endpoint)
		}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // as probes do
	defer client.CloseIdleConnections()
	started := true
	await(t, p.Name+" to be started", func(ctx context.Context) error {
		if p.process.Failure() != nil {
			started = false

			return nil
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+path.Join(p.endpoint, target), nil)
		if err != nil {
			return permanentError{err}
		}
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("%w, its log ends with:\n%s", err, p.process.Tail())
		}
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s, %w", response.Status, body, err)
		}

		return nil
	})

	return started
}

func (p *pod) portOf(port intstr.IntOrString) string {
	for _, named := range p.container.Ports {
		if named.Name == port.StrVal {
			return strconv.Itoa(int(named.ContainerPort))
		}
	}

	return port.String()
}

// stop ends a Pod as the kubelet does.
func (p *pod) stop(t *testing.T) {
	t.Helper()
	failed := p.process.Failure() != nil
	ctx, cancel := ending()
	defer cancel()
	if err := p.process.Stop(ctx); err != nil {
		t.Error(err)
	}
	ours := strings.Contains(p.container.Image, ccm.Name) // others do not end well
	if code := p.process.ExitCode(); code != 0 && !failed && ours {
		t.Errorf("%s: exit code after SIGTERM is %d, want 0", p.Name, code)
	}
	if err := p.host.Client().CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Error(err)
	}
}

// clear kills what a failed test has left, and checks the logs of all processes of the Pod.
func (p *pod) clear(t *testing.T) {
	t.Helper()
	if err := p.process.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	<-p.process.Ended()
	for i := range p.restarts + 1 {
		text, err := os.ReadFile(filepath.Join(p.host.dir, fmt.Sprintf("%s-%d.log", p.Name, i)))
		if err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(withoutKnownRaces(string(text))) {
			if alarms.MatchString(line) && (!p.unauthorized || !strings.Contains(line, "forbidden")) {
				t.Errorf("the log of %s has: %s", p.Name, line)
			}
		}
		if t.Failed() {
			t.Logf("the log of %s, start %d:\n%s", p.Name, i+1, text)
		}
	}
}

// log is all output of the running process.
func (p *pod) log(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(p.process.LogPath())
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// leads reports whether the running process has acquired the lease.
func (p *pod) leads(t *testing.T) bool {
	t.Helper()

	return strings.Contains(strings.ToLower(p.log(t)), "successfully acquired lease")
}

// wantRunning checks that the process has not ended.
func (p *pod) wantRunning(t *testing.T) {
	t.Helper()
	if err := p.process.Failure(); err != nil {
		t.Fatal(err)
	}
}

var errUnknownVolume = errors.New("a host has no volumes of this kind")
