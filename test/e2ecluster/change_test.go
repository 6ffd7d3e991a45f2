//go:build e2ecluster

package e2ecluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
)

// changeLimit is the most that it may take until a changed Secret is in use: the period of the
// kubelet, and its cache.
const changeLimit = 2 * time.Minute

// settled is the time until the kubelet is done with a new Pod, which it looks at more often than at
// others.
const settled = 15 * time.Second

// testSecret changes a Secret outside of the release: the kubelet updates the file, the process ends
// and the kubelet starts it again, once.
func (c *cluster) testSecret(t *testing.T) {
	c.release.settle(t)
	secret := &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "own-config"},
		StringData: map[string]string{"cloud.conf": configOf(t, c.clouds.VCenter)},
	}
	secrets := c.client.CoreV1().Secrets(system)
	_, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	c.made(t, err, secret.Name, secrets.Delete)
	old := c.leader(t)
	c.release.apply(t, without(c.values, "vsphere"), "provider=vsphere", "cloudConfig.existingSecret.name="+secret.Name)
	pod := c.release.awaitLeader(t, c.release.awaitPod(t))
	c.figure(t, "helm upgrade: the new Pod leads", c.election.next(t, old).String())
	before := c.state(t)
	time.Sleep(settled)

	old, began := c.leader(t), time.Now()
	secret.StringData["cloud.conf"] = configOf(t, c.clouds.VCenter, c.more)
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, changeLimit, "the container to be started again", func(ctx context.Context) error {
		count, code, err := c.restarts(ctx, pod)
		if err == nil && count == 0 {
			err = errors.New("it runs as before")
		}
		if code != 0 {
			t.Errorf("the process has ended with %d", code)
		}

		return err
	})
	c.measure(t, "changed Secret until the container is started again", began)
	c.joinAs(t, "vsphere", controlplane.NodeSpec{Name: "more-0"})
	c.measure(t, "changed Secret until a Node of its new vCenter is initialized", began)
	if took := time.Since(began); took > changeLimit {
		t.Errorf("the Secret was in use after %v, want %v at most", took, changeLimit)
	}
	c.figure(t, "the new process leads", c.election.next(t, old).String())
	if count, _, err := c.restarts(t.Context(), pod); err != nil || count != 1 {
		t.Errorf("there were %d restarts, want 1: %v", count, err)
	}
	c.wantState(t, before)
}

// configOf is a cloud-config with vCenters.
func configOf(t *testing.T, vcenters ...*vsphere.VCenter) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("[Global]\nprovider = vsphere\nca-file = /etc/cloud-ca/ca.crt\n")
	for _, vc := range vcenters {
		host, port, err := net.SplitHostPort(vc.Address())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "[VirtualCenter %q]\nserver = %q\nport = %s\nuser = %q\npassword = %q\n", vc.Name(), host, port, vc.User(), vc.Password())
	}

	return text.String()
}

// leader is the holder of the Lease.
func (c *cluster) leader(t *testing.T) string {
	t.Helper()
	holder, err := c.election.leader()
	if err != nil {
		t.Fatal(err)
	}

	return holder
}

// join lets a machine join that has no kubelet, waits until it is initialized by a provider, and
// deletes its Node.
func (c *cluster) join(t *testing.T, provider string) {
	t.Helper()
	c.joinAs(t, provider, c.clouds.Next(provider))
}

func (c *cluster) joinAs(t *testing.T, provider string, spec controlplane.NodeSpec) {
	t.Helper()
	if _, err := controlplane.RegisterNode(t.Context(), c.client, spec); err != nil {
		t.Fatal(err)
	}
	defer func() {
		closed(t, c.client.CoreV1().Nodes().Delete(within(t, patience), spec.Name, metav1.DeleteOptions{}))
	}()
	if id := c.initialized(t, spec.Name).Spec.ProviderID; !strings.HasPrefix(id, provider+":") {
		t.Errorf("the provider ID of node %s is %q, want one of %s", spec.Name, id, provider)
	}
}

// testProvider switches the provider by one value of the chart, twice, and returns by a rollback. The
// node of the first provider keeps everything; Nodes of the others are initialized.
func (c *cluster) testProvider(t *testing.T) {
	c.release.settle(t)
	before, revision := c.state(t), c.release.revision(t)
	for _, provider := range []string{"openstack", "aws"} {
		old, began := c.leader(t), time.Now()
		c.release.apply(t, c.values, "provider="+provider)
		c.release.awaitLeader(t, c.release.awaitPod(t))
		c.measure(t, "helm upgrade to "+provider+" until its Pod leads", began)
		c.figure(t, "the Pod of "+provider+" leads", c.election.next(t, old).String())
		if left := c.clouds.VCenter.Sessions(); len(left) > 0 {
			t.Errorf("the vCenter has sessions of processes that have ended: %+v", left)
		}
		c.join(t, provider)
		c.wantState(t, before)
	}
	old, began := c.leader(t), time.Now()
	if err := c.release.helm.Rollback(within(t, patience), revision); err != nil {
		t.Fatal(err)
	}
	c.release.awaitLeader(t, c.release.awaitPod(t))
	c.measure(t, "helm rollback to vsphere until its Pod leads", began)
	c.figure(t, "the Pod of vsphere leads again", c.election.next(t, old).String())
	c.join(t, "vsphere")
	c.wantState(t, before)
}

// testBroken upgrades to a cloud-config that the process refuses, and rolls back. With one node the
// DaemonSet has replaced its only Pod by then; nothing happens to the node meanwhile.
func (c *cluster) testBroken(t *testing.T) {
	c.release.settle(t)
	before, revision, old := c.state(t), c.release.revision(t), c.leader(t)
	c.release.apply(t, c.values, "provider=vsphere", "verifyBeforeUpgrade=false", "vsphere.config.Global.port=no-such-port")
	await(t, podPatience, "a Pod that fails", func(ctx context.Context) error {
		pods, err := c.release.pods(ctx)
		if err != nil {
			return err
		}
		for i := range pods {
			for _, status := range pods[i].Status.ContainerStatuses {
				if last := status.LastTerminationState.Terminated; last != nil && last.ExitCode != 0 && strings.Contains(last.Message, "no-such-port") {
					return nil
				}
			}
		}

		return errors.New("none has a termination message about the port")
	})
	c.wantState(t, before)
	began := time.Now()
	if err := c.release.helm.Rollback(within(t, patience), revision); err != nil {
		t.Fatal(err)
	}
	c.release.awaitLeader(t, c.release.awaitPod(t))
	c.measure(t, "helm rollback of a broken cloud-config until its Pod leads", began)
	if next := c.leader(t); next == old {
		t.Errorf("the leader is still %s", next)
	}
	c.wantState(t, before)
}
