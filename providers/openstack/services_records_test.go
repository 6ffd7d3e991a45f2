//go:build openstackservices

package openstack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/instanceactions"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/test/openstackservices"
)

// recorded is a cluster of two Nodes, one of which has a server whose records in the
// databases of Nova change.
type recorded struct {
	*realServices

	server *servers.Server
	node   *v1.Node
	cloud  *cloud
	clock  *clocktesting.FakePassiveClock
}

func newRecorded(t *testing.T, name string) *recorded {
	t.Helper()
	r := &recorded{realServices: startServices(t), clock: clocktesting.NewFakePassiveClock(time.Now())}
	r.server = r.addServer(name)
	r.node = nodeOf(r.server)
	times := r.times()
	times.inventory.Clock, times.instances.Clock = r.clock, r.clock
	r.cloud = connectTo(t, kubetest.NewClientset(r.node, nodeOf(&r.servers()[0])), noEnvironment(), r.global, times)
	if _, err := r.cloud.instances.InstanceMetadata(t.Context(), r.node); err != nil {
		t.Fatal(err)
	}

	return r
}

// keeps has the lifecycle controller look at the Node each minute for some time, in which it
// must not be gone.
func (r *recorded) keeps(during time.Duration) {
	r.t.Helper()
	for passed := time.Duration(0); passed < during; passed += time.Minute {
		r.clock.SetTime(r.clock.Now().Add(time.Minute))
		if exists, err := r.cloud.instances.InstanceExists(r.t.Context(), r.node); !exists {
			r.t.Fatalf("the node is gone after %s, %v", passed, err)
		}
	}
}

// missing checks that Nova itself has neither the server nor its actions.
func (r *recorded) missing() {
	r.t.Helper()
	_, err := servers.Get(r.t.Context(), r.Compute, r.server.ID).Extract()
	_, actionsErr := instanceactions.List(r.Compute, r.server.ID, nil).AllPages(r.t.Context())
	for what, err := range map[string]error{"the server": err, "its actions": actionsErr} {
		if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			r.t.Errorf("Nova has %s: %v", what, err)
		}
	}
}

// TestServicesNodeVanishes (OS-NODE-5): the records of a deleted server are purged from the
// databases, as "nova-manage db archive_deleted_rows --purge" does. The Node is gone when the
// server has been missing for as long as one without a record must be.
func TestServicesNodeVanishes(t *testing.T) {
	r := newRecorded(t, "vanishes")
	must(t, servers.Delete(t.Context(), r.Compute, r.server.ID).ExtractErr())
	r.awaitDeleted(r.server.ID)
	r.purge(r.server.ID)
	r.missing()
	r.keeps(certainty.Settle)
	r.clock.SetTime(r.clock.Now().Add(2 * time.Minute))
	if exists, err := r.cloud.instances.InstanceExists(t.Context(), r.node); exists || err != nil {
		t.Errorf("the node after %s: exists %t, %v", certainty.Settle+time.Minute, exists, err)
	}
	if _, err := r.cloud.instances.InstanceMetadata(t.Context(), r.node); !errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("metadata of a server without records: %v", err)
	}
}

// TestServicesNodeUnmapped (OS-NODE-5): the mapping of a server that is running has no cell, as
// in the middle of an upgrade. Nova responds 404 about the server and its actions; the Node is
// kept, and is as before when the mapping is complete.
func TestServicesNodeUnmapped(t *testing.T) {
	r := newRecorded(t, "unmapped")
	api := r.databases()["api_database"]
	cell := strings.TrimSpace(r.sql(api, fmt.Sprintf("SELECT cell_id FROM instance_mappings WHERE instance_uuid = '%s'", r.server.ID)))
	set := func(cell string) {
		r.sql(api, fmt.Sprintf("UPDATE instance_mappings SET cell_id = %s WHERE instance_uuid = '%s'", cell, r.server.ID))
	}
	t.Cleanup(func() { set(cell) }) // before the server is deleted
	set("NULL")
	r.missing()
	r.keeps(certainty.Settle - time.Minute)
	set(cell)
	r.clock.SetTime(r.clock.Now().Add(2 * time.Minute))
	if exists, err := r.cloud.instances.InstanceExists(t.Context(), r.node); !exists || err != nil {
		t.Errorf("the node of a server that is mapped again: exists %t, %v", exists, err)
	}
	if _, err := r.cloud.instances.InstanceMetadata(t.Context(), r.node); err != nil {
		t.Errorf("metadata of a server that is mapped again: %v", err)
	}
}

// purge deletes the records of a server, which has been deleted, from the databases of Nova.
func (s *realServices) purge(id string) {
	s.t.Helper()
	for section, database := range s.databases() {
		schema := strings.Trim(database.Path, "/")
		tables := strings.Fields(s.sql(database, fmt.Sprintf(
			"SELECT table_name FROM information_schema.columns WHERE table_schema = '%s' AND column_name = 'instance_uuid'", schema)))
		statements := []string{"SET FOREIGN_KEY_CHECKS = 0"}
		if section == "database" {
			statements = append(statements, fmt.Sprintf(
				"DELETE FROM instance_actions_events WHERE action_id IN (SELECT id FROM instance_actions WHERE instance_uuid = '%s')", id))
		}
		for _, table := range tables {
			statements = append(statements, fmt.Sprintf("DELETE FROM %s WHERE instance_uuid = '%s'", table, id))
		}
		if section == "database" {
			statements = append(statements, fmt.Sprintf("DELETE FROM instances WHERE uuid = '%s'", id))
		}
		s.sql(database, strings.Join(statements, "; "))
	}
}

// sql runs statements and returns their rows.
func (s *realServices) sql(database *url.URL, statements string) string {
	s.t.Helper()
	password, _ := database.User.Password()
	command := exec.CommandContext(context.WithoutCancel(s.t.Context()), "mysql", "--no-defaults", "--protocol=tcp", "--skip-column-names", "--batch",
		"--host="+database.Hostname(), "--port="+database.Port(), "--user="+database.User.Username(), strings.Trim(database.Path, "/"))
	command.Env = append(os.Environ(), "MYSQL_PWD="+password)
	command.Stdin = strings.NewReader(statements)
	var failure strings.Builder
	command.Stderr = &failure
	rows, err := command.Output()
	if err != nil {
		s.t.Fatalf("run SQL: %v: %s", err, failure.String())
	}

	return string(rows)
}

// databases returns the connections to the databases of Nova, by the sections of the nova.conf
// that is in the directory of the services.
func (s *realServices) databases() map[string]*url.URL {
	s.t.Helper()
	file, err := os.Open(filepath.Join(os.Getenv(openstackservices.Directory), "etc", "nova.conf"))
	must(s.t, err)
	defer file.Close()
	connections, section := map[string]*url.URL{}, ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		key, value, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case strings.TrimSpace(key) == "connection" && strings.HasSuffix(section, "database"):
			if connections[section], err = url.Parse(strings.TrimSpace(value)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if len(connections) != 2 {
		s.t.Fatalf("nova.conf has the connections %v, want those of [database] and [api_database]", len(connections))
	}

	return connections
}
