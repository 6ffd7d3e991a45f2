package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// replicas are a leader and a standby, each with a cloud-config of its own, since the kubelets of
// two nodes do not update volumes at the same time.
type replicas struct {
	*cluster

	project         *project
	leader, standby *manager
	// leads and waits are the paths of their cloud-configs.
	leads, waits string
	joined       int
}

func (c *cluster) startReplicas(t *testing.T) *replicas {
	t.Helper()
	r := &replicas{cluster: c, project: c.startProject(t)}
	r.leads, r.waits = writeConfig(t, r.project.config()), writeConfig(t, r.project.config())
	r.leader = c.run(t, r.leads)
	r.wantInitialized(t)
	r.standby = c.run(t, r.waits)

	return r
}

// wantInitialized has a Node join, which must be initialized.
func (r *replicas) wantInitialized(t *testing.T) {
	t.Helper()
	r.joined++
	spec := r.project.add(fmt.Sprintf("node-%d", r.joined))
	r.join(t, spec)
	r.awaitInitialized(t, spec.Name)
}

// logins counts the passwords that were sent.
func (r *replicas) logins() int { return r.project.Interceptor().Count("keystone.CreateToken") }

// changeStandby changes the file of the standby, which starts again without a login.
func (r *replicas) changeStandby(t *testing.T, text string) {
	t.Helper()
	before := r.logins()
	write(t, r.waits, text)
	r.standby.awaitExit(t, 0)
	r.standby = r.run(t, r.waits)
	if n := r.logins() - before; n != 0 {
		t.Errorf("the standby has sent the password %d times", n)
	}
}

// FW-CONFIG-11, FW-CONFIG-15: a cloud-config that the cloud refuses reaches both replicas, the standby
// first. Nodes that join are initialized all the time.
func TestRefusedConfig(t *testing.T) {
	t.Parallel()
	const problem = "multicloud_ccm_config_file_invalid"
	c := startCluster(t)
	c.environment = append(c.environment, "POD_NAMESPACE=kube-system", "POD_NAME=ccm", "POD_UID=uid")
	r := c.startReplicas(t)
	right := r.project.config()
	wrong := strings.Replace(right, fmt.Sprintf("%q", r.project.AuthOptions(openstack.UserCCM).Password), `"wr0ng"`, 1)
	r.changeStandby(t, wrong)
	r.wantInitialized(t)
	before := r.logins()
	write(t, r.leads, wrong)
	r.leader.awaitMetric(t, 1, problem, `reason="refused"`)
	r.wantInitialized(t)
	if n := r.logins() - before; n > 1 {
		t.Errorf("%d logins for a proof and a rotation", n)
	}
	write(t, r.leads, right)
	r.leader.awaitMetric(t, 0, problem)
	r.changeStandby(t, right)
	events, err := c.Client().CoreV1().Events("kube-system").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=CloudConfigRefused"})
	if err != nil {
		t.Fatal(err)
	}
	if len(events.Items) != 1 || events.Items[0].InvolvedObject.Name != "ccm" {
		t.Errorf("Events of the Pod: %+v", events.Items)
	}
}

// OS-AUTH-4, FW-CONFIG-16: a new password is used without a restart. A new setting restarts the leader,
// and the standby, which has it already, leads.
func TestProvenConfig(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	r := c.startReplicas(t)
	old := r.project.config()
	rotated := strings.Replace(old, fmt.Sprintf("%q", r.project.AuthOptions(openstack.UserCCM).Password), `"n3w"`, 1)
	r.project.SetPassword(openstack.UserCCM, "n3w") // its tokens end
	write(t, r.leads, rotated)
	r.leader.awaitLog(t, "its credentials replace those in use")
	r.wantInitialized(t)

	tuned := rotated + "[Networking]\npublic-network-name = cluster\n"
	r.changeStandby(t, tuned)
	write(t, r.leads, tuned)
	r.leader.awaitExit(t, 0)
	r.wantInitialized(t)
	r.standby.awaitLog(t, "Successfully acquired lease")
}
