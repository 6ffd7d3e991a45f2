package vsphere

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseSpec(t *testing.T) {
	t.Parallel()
	got, err := ParseSpec([]byte(`
vcenters:
- name: a
  sessionTimeout: 90s
  tags: {k8s-zone: [zone-a, zone-b], k8s-region: region-a}
  datacenters:
  - name: dc
    folder: emea/prod
    clusters:
    - name: c
      pools: [{name: p, vapps: [{name: v}]}]
    vms:
    - name: node
      power: suspended
      nics: [{network: internal, ips: [10.0.0.1, "fd00::1"], deviceConfigID: -1}]
      extraConfig: {guestinfo.metadata: e30=}
`))
	want := Spec{VCenters: []VCenterSpec{{
		Name:           "a",
		SessionTimeout: 90 * time.Second,
		Tags:           Tags{"k8s-zone": {"zone-a", "zone-b"}, "k8s-region": {"region-a"}},
		Datacenters: []DatacenterSpec{{
			Name: "dc", Folder: "emea/prod",
			Clusters: []ClusterSpec{{Name: "c", Pools: []PoolSpec{{Name: "p", VApps: []PoolSpec{{Name: "v"}}}}}},
			VMs: []VMSpec{{
				Name: "node", Power: Suspended,
				NICs:        []NIC{{Network: "internal", IPs: []string{"10.0.0.1", "fd00::1"}, DeviceConfigID: new(int32(-1))}},
				ExtraConfig: map[string]string{"guestinfo.metadata": "e30="},
			}},
		}},
	}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, spec (-want +got):\n%s", err, diff)
	}
}

func TestParseSpecRefuses(t *testing.T) {
	t.Parallel()
	inDatacenter := func(text string) string { return "vcenters: [{name: a, datacenters: [{name: dc, " + text + "}]}]" }
	cases := map[string]struct {
		yaml string
		want string
	}{
		"Empty":            {"", "it is empty"},
		"NoVCenters":       {"vcenters: []", "no vcenters"},
		"UnknownKey":       {"vcenters: [{name: a, users: x}]", "field users not found"},
		"TwoDocuments":     {"vcenters: [{name: a}]\n---\nvcenters: [{name: b}]", "one YAML document"},
		"Syntax":           {"vcenters: [", "yaml:"},
		"NoName":           {"vcenters: [{user: a}]", "a vcenter has no name"},
		"VCenterTwice":     {"vcenters: [{name: a}, {name: a}]", `vcenter "a" appears twice`},
		"CertWithoutKey":   {"vcenters: [{name: a, certFile: x}]", "certFile and keyFile need each other"},
		"NegativeTimeout":  {"vcenters: [{name: a, sessionTimeout: -1s}]", "must not be negative"},
		"DatacenterTwice":  {"vcenters: [{name: a, datacenters: [{name: dc}, {name: dc}]}]", `datacenter "dc" appears twice`},
		"ClusterIsHost":    {inDatacenter("clusters: [{name: x}], hosts: [{name: x}]"), `host "x" appears twice`},
		"HostTwice":        {inDatacenter("clusters: [{name: x, hosts: [{name: h}]}], hosts: [{name: h}]"), `host "h" appears twice`},
		"PoolTwice":        {inDatacenter("clusters: [{name: x, pools: [{name: p}], vapps: [{name: p}]}]"), `pool "p" appears twice`},
		"VMTwice":          {inDatacenter("vms: [{name: v}, {name: v}]"), `vm "/v" appears twice`},
		"VMNoName":         {inDatacenter("vms: [{hostname: v}]"), "no name"},
		"VMBadUUID":        {inDatacenter("vms: [{name: v, uuid: 12-34}]"), `uuid "12-34"`},
		"VMBadPower":       {inDatacenter("vms: [{name: v, power: running}]"), "want on, off or suspended"},
		"VMNegativeMemory": {inDatacenter("vms: [{name: v, memoryMB: -1}]"), "must not be negative"},
		"NICBadIP":         {inDatacenter("vms: [{name: v, nics: [{ips: [10.0.0.1/24]}]}]"), `ip "10.0.0.1/24"`},
		"NICBadMAC":        {inDatacenter("vms: [{name: v, nics: [{mac: xx}]}]"), `mac "xx"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := ParseSpec([]byte(tc.yaml)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(v *VCenterSpec)
		want   string
	}{
		"Invalid":     {func(v *VCenterSpec) { v.Name = "" }, "no name"},
		"NoHost":      {func(v *VCenterSpec) { v.Datacenters[0].VMs[0].Host = "none" }, `no host "none"`},
		"NoPool":      {func(v *VCenterSpec) { v.Datacenters[0].VMs[0].Pool = "none" }, `no pool "none"`},
		"Listen":      {func(v *VCenterSpec) { v.Listen = "192.0.2.1:443" }, "not a loopback address"},
		"Certificate": {func(v *VCenterSpec) { v.CertFile, v.KeyFile = "none.crt", "none.key" }, "none.crt"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := small()
			spec.VCenters = append(spec.VCenters, spec.VCenters[0]) // the first one must be closed again
			spec.VCenters[1].Name = "broken"
			spec.VCenters[1].Datacenters = small().VCenters[0].Datacenters
			tc.change(&spec.VCenters[1])
			if _, err := Start(spec); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestDemoSpec(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := ParseSpec(data)
	if err != nil {
		t.Fatal(err)
	}
	zones := make(map[string]bool)
	vms := 0
	cloud := start(t, spec)
	for _, v := range cloud.VCenters() {
		if len(v.dcs) != 2 {
			t.Errorf("%d datacenters, want 2", len(v.dcs))
		}
		vms += len(v.VMs())
		for _, tag := range v.tags.tags {
			zones[v.tags.categories[tag.CategoryID].Name+" "+tag.Name] = true
		}
	}
	if vms != 5 || !slices.Equal(slices.Sorted(maps.Keys(zones)), []string{
		"k8s-region eu", "k8s-region us", "k8s-zone eu-1", "k8s-zone eu-2", "k8s-zone us-1",
	}) {
		t.Errorf("%d VMs, tags %v", vms, zones)
	}
}

func TestFleet(t *testing.T) {
	t.Parallel()
	vms := Fleet("node", 300)
	if diff := cmp.Diff(vms, Fleet("node", 300)); diff != "" || len(vms) != 300 {
		t.Errorf("two fleets differ:\n%s", diff)
	}
	last := VMSpec{Name: "node-0300", NICs: []NIC{{IPs: []string{"10.32.1.44"}}}}
	if diff := cmp.Diff(last, vms[299]); diff != "" {
		t.Errorf("the last VM (-want +got):\n%s", diff)
	}
}
