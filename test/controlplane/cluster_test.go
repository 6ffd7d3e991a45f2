package controlplane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// TestCluster runs what tests do with a cluster against one control plane.
func TestCluster(t *testing.T) {
	t.Parallel()
	cp := start(t, Options{})
	t.Run("RegisterNode", func(t *testing.T) { testRegisterNode(t, cp) })
	t.Run("RegisterNodes", func(t *testing.T) { testRegisterNodes(t, cp) })
	t.Run("SetReady", func(t *testing.T) { testSetReady(t, cp) })
	t.Run("Apply", func(t *testing.T) { testApply(t, cp) })
	t.Run("ApplyRefuses", func(t *testing.T) { testApplyRejects(t, cp) })
	t.Run("ServiceAccount", func(t *testing.T) { testServiceAccount(t, cp) })
}

// asAccount returns a client that acts as the ServiceAccount.
func asAccount(t *testing.T, cp *ControlPlane, namespace, name string) kubernetes.Interface {
	t.Helper()
	path, err := cp.ServiceAccountKubeconfig(t.Context(), namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}

	return client
}

// joined is the expected state of a node that has just joined.
type joined struct {
	Labels, Annotations map[string]string
	ProviderID, UUID    string
	Taints              []v1.Taint
	Addresses           []v1.NodeAddress
	Ready               v1.ConditionStatus
}

func joinedFrom(node *v1.Node) joined {
	return joined{
		Labels: node.Labels, Annotations: node.Annotations,
		ProviderID: node.Spec.ProviderID, UUID: node.Status.NodeInfo.SystemUUID,
		Taints: node.Spec.Taints, Addresses: node.Status.Addresses, Ready: readyStatus(node),
	}
}

func testRegisterNode(t *testing.T, cp *ControlPlane) {
	uninitialized := v1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: v1.TaintEffectNoSchedule}
	dedicated := v1.Taint{Key: "dedicated", Value: "c", Effect: v1.TaintEffectNoExecute}
	cases := map[string]struct {
		reason string
		spec   NodeSpec
		want   joined
	}{
		"Plain": {
			reason: "a node has its name and nothing of the cloud",
			spec:   NodeSpec{Name: "plain", SystemUUID: "4213aafb-0000-4000-8000-000000000001"},
			want: joined{
				Labels: map[string]string{
					"kubernetes.io/hostname": "plain",
					"kubernetes.io/os":       "linux", "beta.kubernetes.io/os": "linux",
					"kubernetes.io/arch": "amd64", "beta.kubernetes.io/arch": "amd64",
				},
				UUID:      "4213aafb-0000-4000-8000-000000000001",
				Taints:    []v1.Taint{uninitialized},
				Addresses: []v1.NodeAddress{{Type: v1.NodeHostName, Address: "plain"}},
				Ready:     v1.ConditionTrue,
			},
		},
		"Everything": {
			reason: "what a kubelet's flags set is there before the cloud's values",
			spec: NodeSpec{
				Name:        "everything",
				ProviderID:  "aws:///eu-central-1a/i-1",
				NodeIPs:     []string{"192.0.2.7", "2001:db8::7"},
				Labels:      map[string]string{"kubernetes.io/arch": "arm64", "pool": "a"},
				Annotations: map[string]string{"team": "b"},
				Taints:      []v1.Taint{dedicated},
				Ready:       v1.ConditionFalse,
			},
			want: joined{
				Labels: map[string]string{
					"kubernetes.io/hostname": "everything",
					"kubernetes.io/os":       "linux", "beta.kubernetes.io/os": "linux",
					"kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "amd64", "pool": "a",
				},
				Annotations: map[string]string{"team": "b", "alpha.kubernetes.io/provided-node-ip": "192.0.2.7,2001:db8::7"},
				ProviderID:  "aws:///eu-central-1a/i-1",
				Taints:      []v1.Taint{uninitialized, dedicated},
				Addresses: []v1.NodeAddress{
					{Type: v1.NodeInternalIP, Address: "192.0.2.7"},
					{Type: v1.NodeInternalIP, Address: "2001:db8::7"},
					{Type: v1.NodeHostName, Address: "everything"},
				},
				Ready: v1.ConditionFalse,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := RegisterNode(t.Context(), cp.Client(), tc.spec); err != nil {
				t.Fatal(err)
			}
			got := joinedFrom(getNode(t, cp, tc.spec.Name))
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func getNode(t *testing.T, cp *ControlPlane, name string) *v1.Node {
	t.Helper()
	node, err := cp.Client().CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	return node
}

func readyStatus(node *v1.Node) v1.ConditionStatus {
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady {
			return condition.Status
		}
	}

	return "missing"
}

func testRegisterNodes(t *testing.T, cp *ControlPlane) {
	specs := make([]NodeSpec, 200)
	for i := range specs {
		specs[i] = NodeSpec{Name: fmt.Sprintf("many-%03d", i), Labels: map[string]string{"many": "yes"}}
	}
	if err := RegisterNodes(t.Context(), cp.Client(), specs); err != nil {
		t.Fatal(err)
	}
	nodes, err := cp.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: "many=yes"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(len(specs), len(nodes.Items)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	err = RegisterNodes(t.Context(), cp.Client(), []NodeSpec{{Name: "fresh"}, {Name: "many-007"}})
	if !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), "register node many-007") {
		t.Errorf("a node that exists must be named: %v", err)
	}
}

func testSetReady(t *testing.T, cp *ControlPlane) {
	if _, err := RegisterNode(t.Context(), cp.Client(), NodeSpec{Name: "moody"}); err != nil {
		t.Fatal(err)
	}
	before := getNode(t, cp, "moody")
	for _, status := range []v1.ConditionStatus{v1.ConditionUnknown, v1.ConditionFalse, v1.ConditionTrue} {
		if err := SetReady(t.Context(), cp.Client(), "moody", status); err != nil {
			t.Fatal(err)
		}
		after := getNode(t, cp, "moody")
		if diff := cmp.Diff(status, readyStatus(after)); diff != "" {
			t.Errorf("Ready (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
			t.Errorf("spec, taints included, must stay as it is (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(len(before.Status.Conditions), len(after.Status.Conditions)); diff != "" {
			t.Errorf("number of conditions (-want +got):\n%s", diff)
		}
	}
	if err := SetReady(t.Context(), cp.Client(), "missing", v1.ConditionTrue); !apierrors.IsNotFound(err) {
		t.Errorf("want not found, got %v", err)
	}
}

const manifest = `
# Comments and empty documents are no objects.
---
apiVersion: v1
kind: Namespace
metadata:
  name: clouds
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: clouds
data:
  color: %s
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: homeless
`

func testApply(t *testing.T, cp *ControlPlane) {
	for _, color := range []string{"red", "blue"} {
		if err := cp.Apply(t.Context(), fmt.Appendf(nil, manifest, color)); err != nil {
			t.Fatal(err)
		}
		settings, err := cp.Client().CoreV1().ConfigMaps("clouds").Get(t.Context(), "settings", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"color": color}, settings.Data); diff != "" {
			t.Errorf("settings (-want +got):\n%s", diff)
		}
	}
	if _, err := cp.Client().CoreV1().ConfigMaps("default").Get(t.Context(), "homeless", metav1.GetOptions{}); err != nil {
		t.Errorf("an object without a namespace belongs to default: %v", err)
	}
}

func testApplyRejects(t *testing.T, cp *ControlPlane) {
	const good = "apiVersion: v1\nkind: Namespace\nmetadata: {name: too-early}\n---\n"
	cases := map[string]struct {
		reason   string
		manifest string
		want     string
	}{
		"NotYAML": {
			reason:   "the document is named by its number",
			manifest: good + "kind: [",
			want:     "read manifest: document 2: ",
		},
		"KeyTwice": {
			reason:   "of two equal keys one would be lost",
			manifest: good + "kind: A\nkind: B\n",
			want:     `read manifest: document 2: `,
		},
		"NoName": {
			reason:   "an object that cannot be named cannot be applied twice",
			manifest: good + "apiVersion: v1\nkind: Namespace\n",
			want:     "read manifest: document 2: kind or metadata.name is missing",
		},
		"UnknownKind": {
			reason:   "the API server does not have every kind",
			manifest: "apiVersion: example.com/v1\nkind: Cloud\nmetadata: {name: nine}\n",
			want:     "apply Cloud nine: no matches for kind",
		},
		"UnknownField": {
			reason:   "a misspelled field would be ignored",
			manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: typo}\ndatum: {}\n",
			want:     "apply ConfigMap typo: ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := cp.Apply(t.Context(), []byte(tc.manifest))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
	_, err := cp.Client().CoreV1().Namespaces().Get(t.Context(), "too-early", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("nothing of an unreadable manifest may be applied: %v", err)
	}
}

func testServiceAccount(t *testing.T, cp *ControlPlane) {
	if err := cp.ApplyFile(t.Context(), "testdata/account.yaml"); err != nil {
		t.Fatal(err)
	}
	if _, err := RegisterNode(t.Context(), cp.Client(), NodeSpec{Name: "guarded"}); err != nil {
		t.Fatal(err)
	}
	limited := asAccount(t, cp, "kube-system", "limited")

	// Allowed: what the role names, and the reviews behind a guarded /metrics.
	if _, err := limited.CoreV1().Nodes().Get(t.Context(), "guarded", metav1.GetOptions{}); err != nil {
		t.Errorf("read a node: %v", err)
	}
	authentication, err := limited.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	if err != nil || len(authentication.Data) == 0 {
		t.Errorf("read extension-apiserver-authentication: %v", err)
	}
	testReviews(t, cp, limited)

	// Forbidden: everything else.
	if err := limited.CoreV1().Nodes().Delete(t.Context(), "guarded", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("delete a node: want forbidden, got %v", err)
	}
	if _, err := limited.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list secrets: want forbidden, got %v", err)
	}
	getNode(t, cp, "guarded")

	if _, err := cp.ServiceAccountKubeconfig(t.Context(), "nowhere", "limited"); !apierrors.IsNotFound(err) {
		t.Errorf("a namespace that is not there: want not found, got %v", err)
	}
}

// testReviews makes the reviews that a component makes before it serves its
// metrics: who has this token, and may they look?
func testReviews(t *testing.T, cp *ControlPlane, client kubernetes.Interface) {
	t.Helper()
	path, err := cp.ServiceAccountKubeconfig(t.Context(), "kube-system", "limited")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	token, err := client.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: config.BearerToken},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("system:serviceaccount:kube-system:limited", token.Status.User.Username); diff != "" {
		t.Errorf("owner of the token (-want +got):\n%s", diff)
	}
	for verb, want := range map[string]bool{"get": true, "delete": false} {
		review, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               token.Status.User.Username,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Resource: "nodes", Verb: verb},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, review.Status.Allowed); diff != "" {
			t.Errorf("may %s nodes (-want +got):\n%s", verb, diff)
		}
	}
}
