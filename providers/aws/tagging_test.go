package aws

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	ccmconfig "k8s.io/cloud-provider/app/config"
	genericcontrollermanager "k8s.io/controller-manager/app"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/tagging"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// manager is what the framework starts controllers with.
type manager struct {
	t       *testing.T
	kube    *kubetest.Clientset
	builder *namedBuilder
	nodes   informers.SharedInformerFactory
}

func newManager(t *testing.T) *manager {
	kube := kubetest.NewClientset()

	return &manager{t: t, kube: kube, builder: &namedBuilder{client: kube}, nodes: informers.NewSharedInformerFactory(kube, 0)}
}

// tag starts the tagging controller as the framework does: by its name, with the
// flags of the command line.
func (m *manager) tag(ctx context.Context, chosen cloudprovider.Interface, args ...string) (started bool, err error) {
	m.t.Helper()
	d := Descriptor()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	d.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		m.t.Fatal(err)
	}
	completed := (&ccmconfig.Config{ClientBuilder: m.builder, SharedInformers: m.nodes}).Complete()
	made := d.Controllers[tagging.Name]
	_, started, err = made.Constructor(made.InitContext, completed, chosen)(ctx, genericcontrollermanager.ControllerContext{})
	m.nodes.Start(ctx.Done())

	return started, err
}

// otherCloud is the cloud of another provider.
type otherCloud struct{ cloudprovider.Interface }

func (otherCloud) ProviderName() string { return "other" }

// TestTaggingUnderAnotherProvider is FW-START-7: it does not start there, and
// whatever the flags are is no error.
func TestTaggingUnderAnotherProvider(t *testing.T) {
	t.Parallel()
	for reason, args := range map[string][]string{
		"without flags":        nil,
		"with wrong flags":     {"--tagging-controller-rate-limit=-1", "--resources=volume"},
		"with the right flags": {"--tags=team=blue", "--resources=instance"},
	} {
		m := newManager(t)
		if started, err := m.tag(t.Context(), otherCloud{}, args...); started || err != nil {
			t.Errorf("%s: started %t, %v", reason, started, err)
		}
		if len(m.builder.names) != 0 {
			t.Errorf("%s: clients %v", reason, m.builder.names)
		}
	}
}

// TestTaggingFlags is AWS-TAG-1: they are checked once the controller is to run;
// off by default, it has no effect.
func TestTaggingFlags(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"tagging"}, Descriptor().ControllersOffByDefault); diff != "" {
		t.Errorf("off by default (-want +got):\n%s", diff)
	}
	c := newRegion(t, sim.Options{}).connect(cloudTuning{})
	m := newManager(t)
	started, err := m.tag(t.Context(), c, "--tagging-controller-burst-limit=-1")
	if started || err == nil {
		t.Fatalf("started %t, %v", started, err)
	}
	for _, want := range []string{"--tags is required", "--resources is required", "--tagging-controller-burst-limit=-1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("AWS-TAG-1: %q is not in: %v", want, err)
		}
	}
}

// TestTagging is AWS-TAG-2: the instances of Nodes get the tags, as the client
// tagging-controller, until the cloud is closed.
func TestTagging(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	c := r.connectOnly(cloudTuning{})
	m := newManager(t)
	ids := r.seed.AddNodes(2)
	before := r.Tags(ids[0])
	m.add(node(ids[0]))
	m.add(kubetest.Node("fargate", kubetest.ProviderID("aws:///us-west-2a/x/fargate-ip-10-0-0-9")))
	m.add(kubetest.Node("foreign", kubetest.ProviderID("gce://p/z/"+ids[1])))
	started, err := m.tag(t.Context(), c, "--tags=team=blue,cost=42", "--resources=instance")
	if !started || err != nil {
		t.Fatalf("started %t, %v", started, err)
	}
	if diff := cmp.Diff([]string{"tagging-controller"}, m.builder.names); diff != "" {
		t.Errorf("clients (-want +got):\n%s", diff)
	}
	m.awaitLabel("node-" + ids[0])
	want := before
	want["team"], want["cost"] = "blue", "42"
	if diff := cmp.Diff(want, r.Tags(ids[0])); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Errorf("the controller outlives the cloud: %v", err)
	}
	m.add(kubetest.Node("late", kubetest.ProviderID("aws:///us-west-2a/"+ids[1])))
	if diff := cmp.Diff(map[string]int{"CreateTags": 1}, r.Writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// TestTaggingAfterClose: what starts while the process ends is not started.
func TestTaggingAfterClose(t *testing.T) {
	t.Parallel()
	c := newRegion(t, sim.Options{}).connectOnly(cloudTuning{})
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.background.Go(func(context.Context) { t.Error("started") })
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func (m *manager) add(n *v1.Node) {
	m.t.Helper()
	if _, err := m.kube.CoreV1().Nodes().Create(m.t.Context(), n, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

// awaitLabel waits until a Node's label records that its instance has the tags.
func (m *manager) awaitLabel(name string) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := m.kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			m.t.Fatal(err)
		}
		if n.Labels[tagging.Label] != "" {
			return
		}
		select {
		case <-ctx.Done():
			m.t.Fatalf("node %s never got its label", name)
		case <-tick.C:
		}
	}
}
