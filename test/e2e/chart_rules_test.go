package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// audited is a cluster and the requests of ServiceAccounts in it since the start of a test.
type audited struct {
	*cluster

	// from is where the part of the log begins that counts.
	from int64
	// config is the path of the cloud-config of the last process.
	config string
}

func startAudited(t *testing.T) *audited {
	t.Helper()
	c := startCluster(t)
	log, err := os.Stat(c.auditLog())
	if err != nil {
		t.Fatal(err)
	}

	return &audited{cluster: c, from: log.Size()}
}

// request is what a ServiceAccount has requested.
type request struct {
	User      struct{ Username string }
	Verb      string
	ObjectRef struct {
		Resource, Subresource, APIGroup, Namespace, Name string
	}
	Annotations map[string]string
}

func (r request) key() string {
	o := r.ObjectRef

	return strings.Join([]string{r.User.Username, r.Verb, o.APIGroup, o.Resource, o.Subresource, o.Namespace, o.Name}, " ")
}

// tolerated reports whether a request may be denied. A client for another account that does not
// exist reads its namespace first, and ignores any error but that it does not exist: getOrCreateServiceAccount in
// https://github.com/kubernetes/controller-manager/blob/v0.37.2/pkg/clientbuilder/client_builder_dynamic.go.
// The role for it would be one for nothing.
func tolerated(r request) bool {
	return r.Verb == "get" && r.ObjectRef.Resource == "namespaces" && r.ObjectRef.Name == systemNamespace
}

// requests returns each kind of request once, and fails for any that was denied.
func (a *audited) requests(t *testing.T) []request {
	t.Helper()
	log, err := os.ReadFile(a.auditLog())
	if err != nil {
		t.Fatal(err)
	}
	var all []request
	there := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(log[a.from:]))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.ObjectRef.Resource == "" {
			continue
		}
		if decision := r.Annotations["authorization.k8s.io/decision"]; decision != "allow" && !tolerated(r) {
			t.Errorf("%s: %s", decision, r.key())
		}
		if !there[r.key()] {
			there[r.key()] = true
			all = append(all, r)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}

	return all
}

// permission is one verb of one resource for one account, in a namespace or, if that is
// empty, everywhere. Several roles may have it.
type permission struct {
	account, namespace           string
	group, resource, names, verb string // the resource with its subresource
}

// covers reports whether a request could need the permission.
func (p permission) covers(r request) bool {
	resource := r.ObjectRef.Resource
	if r.ObjectRef.Subresource != "" {
		resource += "/" + r.ObjectRef.Subresource
	}

	return p.account == r.User.Username && (p.namespace == "" || p.namespace == r.ObjectRef.Namespace) &&
		p.verb == r.Verb && p.group == r.ObjectRef.APIGroup && p.resource == resource &&
		(p.names == "" || slices.Contains(strings.Fields(p.names), r.ObjectRef.Name))
}

// role is a Role, or a ClusterRole without a namespace, with the account it is bound to.
type role struct {
	namespace, name, account string
	rules                    []rbacv1.PolicyRule
}

// roles returns what the chart binds to accounts.
func (c *cluster) roles(t *testing.T) []role {
	t.Helper()
	access, granted := c.Client().RbacV1(), metav1.ListOptions{LabelSelector: instanceLabel}
	accounts := map[string]string{} // namespace/name of a role
	clusterBindings, err := access.ClusterRoleBindings().List(t.Context(), granted)
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range clusterBindings.Items {
		accounts["/"+binding.RoleRef.Name] = accountOf(t, binding.Subjects)
	}
	bindings, err := access.RoleBindings(metav1.NamespaceAll).List(t.Context(), granted)
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range bindings.Items {
		accounts[binding.Namespace+"/"+binding.RoleRef.Name] = accountOf(t, binding.Subjects)
	}
	clusterRoles, err := access.ClusterRoles().List(t.Context(), granted)
	if err != nil {
		t.Fatal(err)
	}
	namespaced, err := access.Roles(metav1.NamespaceAll).List(t.Context(), granted)
	if err != nil {
		t.Fatal(err)
	}
	var all []role
	for _, r := range clusterRoles.Items {
		all = append(all, role{name: r.Name, account: accounts["/"+r.Name], rules: r.Rules})
	}
	for _, r := range namespaced.Items {
		all = append(all, role{namespace: r.Namespace, name: r.Name, account: accounts[r.Namespace+"/"+r.Name], rules: r.Rules})
	}

	return all
}

// wantNeeded checks that a request was made for each permission of roles.
func wantNeeded(t *testing.T, requests []request, roles []role) {
	t.Helper()
	checked := map[permission]bool{}
	for _, r := range roles {
		for _, p := range r.permissions() {
			if !checked[p] && !slices.ContainsFunc(requests, p.covers) {
				t.Errorf("no process has made a request for which this is needed: %+v", p)
			}
			checked[p] = true
		}
	}
	if len(checked) < 10 {
		t.Errorf("there are only %d permissions", len(checked))
	}
}

// accountOf returns the user name of the one account of a binding.
func accountOf(t *testing.T, subjects []rbacv1.Subject) string {
	t.Helper()
	if len(subjects) != 1 || subjects[0].Kind != rbacv1.ServiceAccountKind {
		t.Fatalf("want one account, got %+v", subjects)
	}

	return "system:serviceaccount:" + subjects[0].Namespace + ":" + subjects[0].Name
}

// permissions returns what the rules of a role consist of.
func (r role) permissions() []permission {
	var all []permission
	for _, rule := range r.rules {
		p := permission{account: r.account, namespace: r.namespace, names: strings.Join(rule.ResourceNames, " ")}
		for _, p.group = range rule.APIGroups {
			for _, p.resource = range rule.Resources {
				for _, p.verb = range rule.Verbs {
					all = append(all, p)
				}
			}
		}
	}

	return all
}

// set writes the rules of a role.
func (c *cluster) set(ctx context.Context, r role) error {
	rules, err := json.Marshal(map[string]any{"rules": r.rules})
	if err != nil {
		return err
	}
	if r.namespace == "" {
		_, err = c.Client().RbacV1().ClusterRoles().Patch(ctx, r.name, types.MergePatchType, rules, metav1.PatchOptions{})
	} else {
		_, err = c.Client().RbacV1().Roles(r.namespace).Patch(ctx, r.name, types.MergePatchType, rules, metav1.PatchOptions{})
	}

	return err
}

// withOldRoles has the roles of Kubernetes itself give no more than in the oldest version that is
// supported, until the test has ended: since 1.37, the node controller may read all Leases,
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go.
func (c *cluster) withOldRoles(t *testing.T) {
	t.Helper()
	found, err := c.Client().RbacV1().ClusterRoles().Get(t.Context(), "system:controller:node-controller", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := role{name: found.Name, rules: found.Rules}
	before := role{name: found.Name, rules: slices.DeleteFunc(slices.Clone(found.Rules), func(rule rbacv1.PolicyRule) bool {
		return slices.Equal(rule.Resources, []string{"leases"})
	})}
	if len(before.rules) != len(now.rules)-1 {
		t.Fatalf("the role has not one rule for Leases: %+v", found.Rules)
	}
	t.Cleanup(func() {
		ctx, cancel := ending()
		defer cancel()
		if err := c.set(ctx, now); err != nil {
			t.Error(err)
		}
	})
	if err := c.set(t.Context(), before); err != nil {
		t.Fatal(err)
	}
}

// FW-START-6, FW-START-8: all controllers work with the permissions of the chart and no more, with one account
// and with an account for each, and none of the permissions is more than they need.
func TestChartPermissions(t *testing.T) {
	t.Parallel()
	modes := map[string][]string{"OneAccount": nil, "Accounts": {"--use-service-account-credentials"}}
	for provider, work := range map[string]func(*testing.T, *audited, ...string){
		"aws": workAWS, "openstack": workOpenStack, "vsphere": workVSphere,
	} {
		for mode, args := range modes {
			t.Run(provider+"/"+mode, func(t *testing.T) {
				t.Parallel()
				a := startAudited(t)
				a.withOldRoles(t)
				work(t, a, args...)
				wantNeeded(t, a.requests(t), a.roles(t))
			})
		}
	}
}

// start runs a process with informers that list first: by default, they stream the first
// list, and list where a server does not have that.
func (a *audited) start(t *testing.T, config string, args ...string) *manager {
	t.Helper()
	a.environment = append(a.environment, "KUBE_FEATURE_WatchListClient=false", "POD_NAMESPACE=kube-system", "POD_NAME=ccm", "POD_UID=uid")
	a.config = writeConfig(t, config)

	return a.run(t, a.config, args...)
}

// refuse changes the cloud-config twice to one that the cloud refuses. The second Event is the same as the
// first one, so that it is patched.
func (a *audited) refuse(t *testing.T, m *manager, wrong string) {
	t.Helper()
	right, err := os.ReadFile(a.config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		write(t, a.config, wrong)
		m.awaitMetric(t, 1, "multicloud_ccm_config_file_invalid", `reason="refused"`)
		write(t, a.config, string(right))
		m.awaitMetric(t, 0, "multicloud_ccm_config_file_invalid")
	}
	a.awaitRepeated(t, systemNamespace, "reason=CloudConfigRefused,involvedObject.name=ccm")
}

// awaitRepeated waits for an Event that was patched.
func (c *cluster) awaitRepeated(t *testing.T, namespace, selector string) {
	t.Helper()
	await(t, "an Event to be repeated: "+selector, func(ctx context.Context) error {
		events, err := c.Client().CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
		if err == nil && !slices.ContainsFunc(events.Items, func(event v1.Event) bool { return event.Count == 2 }) {
			err = fmt.Errorf("there are %+v", events.Items)
		}

		return err
	})
}

// scrape reads the metrics as an account that may not, which the process finds out by a
// review of the token and one of the access.
func (a *audited) scrape(t *testing.T, m *manager) {
	t.Helper()
	other := a.as(t, v1.NamespaceDefault, "other")
	m.await(t, "the metrics to be refused", func(ctx context.Context) error {
		_, err := m.Get(ctx, other, "/metrics")
		if err == nil || !strings.Contains(err.Error(), "cannot get") {
			return fmt.Errorf("want a refusal, got: %v", err)
		}

		return nil
	})
}

// withRoutes are the arguments for routes to nodes.
var withRoutes = []string{"--configure-cloud-routes", "--cluster-cidr=10.244.0.0/16"}

// setRanges gives each node a range of Pod addresses.
func (c *cluster) setRanges(t *testing.T, nodes ...string) {
	t.Helper()
	for i, name := range nodes {
		cidr := fmt.Sprintf("10.244.%d.0/24", i+1)
		patch := fmt.Appendf(nil, `{"spec":{"podCIDR":%q,"podCIDRs":[%q]}}`, cidr, cidr)
		if _, err := c.Client().CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitRouted waits until the routes to nodes are there.
func (c *cluster) awaitRouted(t *testing.T, nodes ...string) {
	t.Helper()
	for _, name := range nodes {
		c.awaitNode(t, name, "to have its route", func(node *v1.Node) error {
			for _, condition := range node.Status.Conditions {
				if condition.Type == v1.NodeNetworkUnavailable && condition.Reason == "RouteCreated" {
					return nil
				}
			}

			return fmt.Errorf("its conditions are %+v", node.Status.Conditions)
		})
	}
}

// initializeAgain taints a node again. The Event of its second initialization is the same as that of
// the first one, so that it is patched.
func (c *cluster) initializeAgain(t *testing.T, name string) {
	t.Helper()
	await(t, "node "+name+" to be tainted", func(ctx context.Context) error {
		node, err := c.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule})
		_, err = c.Client().CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})

		return err
	})
	c.awaitInitialized(t, name)
	c.awaitRepeated(t, v1.NamespaceDefault, "reason=Synced,involvedObject.name="+name)
}

// joinEnded registers a node as it is when its instance has been deleted while no process ran.
func (c *cluster) joinEnded(t *testing.T, name, providerID string) {
	t.Helper()
	c.join(t, controlplane.NodeSpec{Name: name, ProviderID: providerID, Ready: v1.ConditionUnknown})
	c.initializeByHand(t, name)
}

// workAWS has every controller do all that it does. What has happened to instances before, a process
// notices at once, and else when its list is 30 seconds old.
func workAWS(t *testing.T, a *audited, args ...string) {
	r := a.startRegion(t)
	machines := r.add(3)
	nodes, on, off, ended := names(machines), machines[:1], machines[1], machines[2]
	r.SetState(off.id, aws.Stopped)
	a.joinAll(t, machines[:2])
	a.setReady(t, v1.ConditionUnknown, off.name)
	a.setRanges(t, nodes[:2]...)
	r.Terminate(ended.id)
	a.joinEnded(t, ended.name, r.ProviderID(ended.id))
	m := a.start(t, awsConfig, slices.Concat(args, taggingArgs, withRoutes)...)
	a.awaitInitialized(t, nodes[:2]...)
	a.awaitRouted(t, nodes[:2]...)
	a.create(t, newService("web", classic, 80))
	a.awaitServed(t, r, on, "web")
	a.change(t, annotate(internalAnnotation, "true"), "web")
	a.awaitNode(t, off.name, "to be tainted", tainted(shutdown))
	a.awaitGone(t, ended.name)
	a.remove(t, "web")
	a.awaitRemoved(t, "web")
	a.refuse(t, m, awsConfig+"VPC = vpc-1\nKubernetesClusterID = e2e\n")
	a.scrape(t, m)
	m.terminate(t) // it needs permissions to the end
}

// workOpenStack has every controller do all that it does. What has happened to servers before, a process
// notices at once, and else when its list is 30 seconds old.
func workOpenStack(t *testing.T, a *audited, args ...string) {
	p := a.startProject(t)
	nodes := []string{"on", "off"}
	for _, name := range nodes {
		a.join(t, p.add(name))
	}
	p.SetServerStatus(p.ids["off"], "SHUTOFF")
	a.setReady(t, v1.ConditionUnknown, "off")
	a.setRanges(t, nodes...)
	p.add("ended")
	p.DeleteServer(p.ids["ended"])
	a.joinEnded(t, "ended", "openstack:///"+p.ids["ended"])
	config := p.config() + "\n[Route]\nrouter-id = " + p.router + "\n"
	m := a.start(t, config, slices.Concat(args, withRoutes)...)
	a.awaitInitialized(t, nodes...)
	a.awaitRouted(t, nodes...)
	a.create(t, newService("web", classic, 80))
	a.awaitOctavia(t, p, []string{"web"}, nodes...)
	a.awaitNode(t, "off", "to be tainted", tainted(shutdown))
	a.awaitGone(t, "ended")
	a.remove(t, "web")
	a.awaitRemoved(t, "web")
	a.refuse(t, m, strings.Replace(config, "RegionOne", "RegionNone", 1))
	a.scrape(t, m)
	m.terminate(t)
}

// workVSphere has every controller do all that it does, with credentials in a Secret. FW-NODE-2,
// VS-NODE-9: a Node is deleted once the absence of its VM is certain, and VS-ROUTE-1: its route with it.
func workVSphere(t *testing.T, a *audited, args ...string) {
	cloud := startCloud(t, smallVCenter("vc", "on", "off", "deleted"))
	vc := cloud.VCenters()[0]
	a.makeSecretNamespace(t)
	a.secret = secretName
	secret := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName}, StringData: map[string]string{
		server(vc) + ".username": vc.User(), server(vc) + ".password": vc.Password(),
	}}
	if _, err := a.Client().CoreV1().Secrets(secretNamespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	g := startGateway(t)
	config := "[Global]\nprovider = vsphere\nsecret-name = " + secretName + "\nsecret-namespace = " + secretNamespace + "\n" + g.config(t) + section(vc)
	m := a.start(t, config, slices.Concat(args, withRoutes)...)
	nodes := []string{"on", "off", "deleted"}
	for _, name := range nodes {
		a.join(t, controlplane.NodeSpec{Name: name})
	}
	a.setRanges(t, nodes...)
	a.awaitInitialized(t, nodes...)
	a.awaitRouted(t, nodes...)
	a.initializeAgain(t, "on")
	local := newService("web", classic, 80)
	local.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal // which is worth an Event
	a.create(t, local)
	g.awaitServed(t, a.cluster, "web", len(nodes))
	a.remove(t, "web")
	a.awaitRemoved(t, "web")
	g.awaitNoBalancers(t)
	for _, change := range []func() error{cloud.VM("off").PowerOff, cloud.VM("deleted").Destroy} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	a.setReady(t, v1.ConditionUnknown, "off", "deleted")
	m.awaitLog(t, `Node is kept although its instance is missing" node="deleted"`)
	a.node(t, "deleted")
	a.age(t, "deleted")
	a.awaitNode(t, "off", "to be tainted", tainted(shutdown))
	a.refuse(t, m, config+"datacenters = missing\n")
	a.scrape(t, m)
	a.awaitGone(t, "deleted") // a minute after the VM
	g.awaitRoutes(t, "10.244.1.0/24", "10.244.2.0/24")
	m.terminate(t)
}
