package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// auditPolicy has the API server write each request of a ServiceAccount.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// audited is a cluster whose API server writes all requests of ServiceAccounts to a file.
type audited struct {
	*cluster

	log string
	// from is where the part of the log begins that counts.
	from int
}

func startAudited(t *testing.T) *audited {
	t.Helper()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	write(t, policy, auditPolicy)
	c := newCluster(t, "--audit-policy-file="+policy, "--audit-log-path="+log, "--audit-log-mode=blocking")
	c.changed = true
	t.Cleanup(func() {
		if err := clusters.put(c, t.Failed()); err != nil {
			t.Error(err)
		}
	})

	return &audited{cluster: c, log: log}
}

// request is what a ServiceAccount has requested.
type request struct {
	User struct {
		Username string
		Groups   []string
	}
	Verb      string
	ObjectRef struct {
		Resource, Subresource, APIGroup, Namespace, Name string
	}
	Annotations map[string]string
}

// review is the question whether the request is allowed.
func (r request) review() *authorizationv1.SubjectAccessReview {
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: r.User.Username, Groups: r.User.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: r.Verb, Group: r.ObjectRef.APIGroup, Resource: r.ObjectRef.Resource, Subresource: r.ObjectRef.Subresource,
			Namespace: r.ObjectRef.Namespace, Name: r.ObjectRef.Name,
		},
	}}
}

func (r request) key() string {
	o := r.ObjectRef

	return strings.Join([]string{r.User.Username, r.Verb, o.APIGroup, o.Resource, o.Subresource, o.Namespace, o.Name}, " ")
}

// tolerated reports whether a request may be denied. A client for another account looks
// first whether the namespace of the account is there, and goes on if it may not know:
// GetOrCreateServiceAccount of k8s.io/controller-manager.
func tolerated(r request) bool {
	return r.Verb == "get" && r.ObjectRef.Resource == "namespaces" && r.ObjectRef.Name == systemNamespace
}

// requests returns each kind of request once, and fails for any that was denied.
func (a *audited) requests(t *testing.T) []request {
	t.Helper()
	log, err := os.ReadFile(a.log)
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

// without returns the role without a permission.
func (r role) without(p permission) role {
	var rules []rbacv1.PolicyRule
	for _, rule := range r.rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					one := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: rule.ResourceNames, Verbs: []string{verb}}
					if group != p.group || resource != p.resource || verb != p.verb || strings.Join(rule.ResourceNames, " ") != p.names {
						rules = append(rules, one)
					}
				}
			}
		}
	}
	r.rules = rules

	return r
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

// denied reports whether the API server denies one of the requests now.
func (c *cluster) denied(ctx context.Context, requests []request) (bool, error) {
	for _, r := range requests {
		review, err := c.Client().AuthorizationV1().SubjectAccessReviews().Create(ctx, r.review(), metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		if !review.Status.Allowed {
			return true, nil
		}
	}

	return false, nil
}

// rare are permissions for requests that no test makes.
func rare(p permission) bool {
	// An Event of the leader election that is repeated within minutes is patched: with an
	// account for each controller, our own writes no others.
	return p.resource == "events" && p.verb == "patch"
}

// given reports whether Kubernetes gives a permission by itself, in the version of the API
// server and not in all that are supported.
func given(p permission) bool {
	// Since 1.37, system:controller:node-controller reads all Leases.
	return p.account == "system:serviceaccount:kube-system:node-controller" && p.resource == "leases" && p.verb == "get"
}

// wantNeeded checks that every permission is needed: without it, the API server denies
// a request that processes have made. The authorizer takes a moment to notice a change.
func (a *audited) wantNeeded(t *testing.T) {
	t.Helper()
	requests, roles := a.requests(t), a.roles(t)
	checked := map[permission]bool{}
	for _, r := range roles {
		for _, p := range r.permissions() {
			if checked[p] {
				continue
			}
			checked[p] = true
			made := slices.DeleteFunc(slices.Clone(requests), func(r request) bool { return !p.covers(r) })
			switch {
			case len(made) > 0 && !given(p):
				a.wantDenied(t, roles, p, made)
			case len(made) == 0 && !rare(p):
				t.Errorf("no process has made a request for which this is needed: %+v", p)
			}
		}
	}
	if len(checked) < 10 {
		t.Errorf("there are only %d permissions", len(checked))
	}
}

// wantDenied removes a permission from all roles that have it, and gives it back when
// one of the requests was denied.
func (a *audited) wantDenied(t *testing.T, roles []role, p permission, made []request) {
	t.Helper()
	for _, r := range roles {
		if slices.Contains(r.permissions(), p) {
			if err := a.set(t.Context(), r.without(p)); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.awaitDecision(t, fmt.Sprintf("a denial without %+v", p), made, true)
	for _, r := range roles {
		if slices.Contains(r.permissions(), p) {
			if err := a.set(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.awaitDecision(t, fmt.Sprintf("all to be allowed with %+v", p), made, false)
}

// awaitDecision waits until one of the requests is denied, or none.
func (c *cluster) awaitDecision(t *testing.T, what string, requests []request, want bool) {
	t.Helper()
	await(t, what, func(ctx context.Context) error {
		denied, err := c.denied(ctx, requests)
		if err == nil && denied != want {
			err = errors.New("the decision is another one")
		}

		return err
	})
}

// All controllers work with the permissions of the chart and no more, with one account
// and with an account for each, and none of the permissions is more than they need.
func TestChartPermissions(t *testing.T) {
	t.Parallel()
	for provider, work := range map[string]func(*testing.T, *audited, ...string){
		"aws": workAWS, "openstack": workOpenStack, "vsphere": workVSphere,
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			a := startAudited(t)
			a.test(t, "OneAccount", work)
			a.test(t, "Accounts", work, "--use-service-account-credentials")
		})
	}
}

// test has processes with some arguments do their work, and checks their permissions.
func (a *audited) test(t *testing.T, name string, work func(*testing.T, *audited, ...string), args ...string) {
	t.Run(name, func(t *testing.T) { //nolint:paralleltest // one after the other on a server
		work(t, a, args...)
		a.wantNeeded(t)
	})
	leases := a.Client().CoordinationV1().Leases(systemNamespace) // that of failed logins, too
	err := errors.Join(a.reset(t.Context()), leases.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Stat(a.log)
	if err != nil {
		t.Fatal(err)
	}
	a.from = int(log.Size())
}

// start runs a process with informers that list first: by default, they stream the first
// list, and list where a server does not have that.
func (a *audited) start(t *testing.T, config string, args ...string) *manager {
	t.Helper()
	a.environment = append(a.environment, "KUBE_FEATURE_WatchListClient=false")

	return a.run(t, writeConfig(t, config), args...)
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

// workAWS has every controller do all that it does.
func workAWS(t *testing.T, a *audited, args ...string) {
	r := a.startRegion(t)
	machines := r.add(3)
	nodes := names(machines)
	a.joinAll(t, machines)
	a.setRanges(t, nodes...)
	m := a.start(t, awsConfig, slices.Concat(args, taggingArgs, withRoutes)...)
	a.awaitInitialized(t, nodes...)
	a.awaitRouted(t, nodes...)
	a.create(t, newService("web", classic, 80))
	a.awaitServed(t, r, machines, "web")
	a.change(t, annotate(internalAnnotation, "true"), "web")
	r.SetState(machines[1].id, aws.Stopped)
	r.Terminate(machines[2].id)
	a.setReady(t, v1.ConditionUnknown, nodes[1:]...)
	a.awaitNode(t, nodes[1], "to be tainted", tainted(shutdown))
	a.awaitGone(t, nodes[2])
	a.remove(t, "web")
	a.awaitRemoved(t, "web")
	a.scrape(t, m)
}

// workOpenStack has every controller do all that it does.
func workOpenStack(t *testing.T, a *audited, args ...string) {
	p := a.startProject(t)
	nodes := []string{"on", "off", "deleted"}
	for _, name := range nodes {
		a.join(t, p.add(name))
	}
	m := a.start(t, p.config(), args...)
	a.awaitInitialized(t, nodes...)
	a.create(t, newService("web", classic, 80))
	a.awaitOctavia(t, p, []string{"web"}, nodes...)
	p.SetServerStatus(p.ids["off"], "SHUTOFF")
	p.DeleteServer(p.ids["deleted"])
	a.setReady(t, v1.ConditionUnknown, "off", "deleted")
	a.awaitNode(t, "off", "to be tainted", tainted(shutdown))
	a.awaitGone(t, "deleted")
	a.remove(t, "web")
	a.awaitRemoved(t, "web")
	a.scrape(t, m)
}

// workVSphere has every controller do all that it does, with credentials in a Secret.
func workVSphere(t *testing.T, a *audited, args ...string) {
	cloud := startCloud(t, smallVCenter("vc", "on", "off", "deleted"))
	vc := cloud.VCenters()[0]
	a.makeNamespace(t, secretNamespace)
	a.secret = secretName
	secret := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName}, StringData: map[string]string{
		server(vc) + ".username": vc.User(), server(vc) + ".password": vc.Password(),
	}}
	if _, err := a.Client().CoreV1().Secrets(secretNamespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := ending()
		defer cancel()
		if err := a.Client().CoreV1().Secrets(secretNamespace).Delete(ctx, secretName, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	config := "[Global]\nprovider = vsphere\nsecret-name = " + secretName + "\nsecret-namespace = " + secretNamespace + "\n\n" + section(vc)
	m := a.start(t, config, args...)
	nodes := []string{"on", "off", "deleted"}
	for _, name := range nodes {
		a.join(t, controlplane.NodeSpec{Name: name})
	}
	a.awaitInitialized(t, nodes...)
	for _, change := range []func() error{cloud.VM("off").PowerOff, cloud.VM("deleted").Destroy} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	a.setReady(t, v1.ConditionUnknown, "off", "deleted")
	a.awaitNode(t, "off", "to be tainted", tainted(shutdown))
	a.age(t, "deleted")
	a.awaitGone(t, "deleted")
	a.scrape(t, m)
}
