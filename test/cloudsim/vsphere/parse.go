package vsphere

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ParseSpec reads a Spec from YAML. Unknown keys are errors, and so is whatever
// [Start] would reject.
func ParseSpec(data []byte) (Spec, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	var spec Spec
	if err := decoder.Decode(&spec); err != nil {
		if errors.Is(err, io.EOF) {
			return Spec{}, errors.New("parse vSphere spec: it is empty")
		}

		return Spec{}, fmt.Errorf("parse vSphere spec: %w", err)
	}
	if err := decoder.Decode(new(Spec)); !errors.Is(err, io.EOF) {
		return Spec{}, errors.New("parse vSphere spec: want one YAML document")
	}
	if err := spec.Validate(); err != nil {
		return Spec{}, err
	}

	return spec, nil
}

// UnmarshalYAML accepts one name or a list of them.
func (n *Names) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		var name string
		if err := node.Decode(&name); err != nil {
			return err
		}
		*n = Names{name}

		return nil
	}
	var names []string
	if err := node.Decode(&names); err != nil {
		return err
	}
	*n = names

	return nil
}

// Validate reports everything that is wrong with the spec itself: missing and
// repeated names, malformed addresses. Names that point nowhere are found by
// [Start].
func (s *Spec) Validate() error {
	var problems []error
	if len(s.VCenters) == 0 {
		problems = append(problems, errors.New("no vcenters"))
	}
	seen := make(names)
	for i := range s.VCenters {
		vc := &s.VCenters[i]
		problems = append(problems, seen.add("vcenter", vc.Name))
		if err := vc.validate(); err != nil {
			problems = append(problems, fmt.Errorf("vcenter %q: %w", vc.Name, err))
		}
	}
	problems = append(problems, s.validateLinked(seen))
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("check vSphere spec: %w", err)
	}

	return nil
}

// validateLinked reports groups of one or none, and names that do not exist or
// are linked twice.
func (s *Spec) validateLinked(vcenters names) error {
	var problems []error
	linked := make(names)
	for _, group := range s.Linked {
		if len(group) < 2 {
			problems = append(problems, fmt.Errorf("linked %q: want two vcenters or more", group))
		}
		for _, name := range group {
			if _, ok := vcenters[name]; !ok {
				problems = append(problems, fmt.Errorf("linked vcenter %q does not exist", name))
			}
			problems = append(problems, linked.add("linked vcenter", name))
		}
	}

	return errors.Join(problems...)
}

func (v *VCenterSpec) validate() error {
	var problems []error
	if (v.CertFile == "") != (v.KeyFile == "") {
		problems = append(problems, errors.New("certFile and keyFile need each other"))
	}
	if v.SessionTimeout < 0 || v.RESTSessionTimeout < 0 || v.Latency < 0 {
		problems = append(problems, errors.New("sessionTimeout, restSessionTimeout and latency must not be negative"))
	}
	seen := make(names)
	for i := range v.Datacenters {
		dc := &v.Datacenters[i]
		problems = append(problems, seen.add("datacenter", dc.Name))
		if err := dc.validate(); err != nil {
			problems = append(problems, fmt.Errorf("datacenter %q: %w", dc.Name, err))
		}
	}

	return errors.Join(problems...)
}

func (d *DatacenterSpec) validate() error {
	var problems []error
	compute, hosts, vms := make(names), make(names), make(names)
	for _, cluster := range d.Clusters {
		problems = append(problems, compute.add("cluster", cluster.Name))
		for _, host := range cluster.Hosts {
			problems = append(problems, hosts.add("host", host.Name))
		}
		problems = append(problems, validatePools(cluster.Pools, cluster.VApps))
	}
	for _, host := range d.Hosts {
		problems = append(problems, compute.add("host", host.Name), hosts.add("host", host.Name))
	}
	for i := range d.VMs {
		vm := &d.VMs[i]
		problems = append(problems, vms.add("vm", vm.Folder+"/"+vm.Name))
		if err := vm.validate(); err != nil {
			problems = append(problems, fmt.Errorf("vm %q: %w", vm.Name, err))
		}
	}

	return errors.Join(problems...)
}

func validatePools(pools, vapps []PoolSpec) error {
	var problems []error
	seen := make(names)
	for _, list := range [][]PoolSpec{pools, vapps} {
		for _, pool := range list {
			problems = append(problems, seen.add("pool", pool.Name), validatePools(pool.Pools, pool.VApps))
		}
	}

	return errors.Join(problems...)
}

func (v *VMSpec) validate() error {
	var problems []error
	if v.Name == "" {
		problems = append(problems, errors.New("no name"))
	}
	if v.UUID != "" && !uuidPattern.MatchString(v.UUID) {
		problems = append(problems, fmt.Errorf("uuid %q: want 32 hex digits as 8-4-4-4-12", v.UUID))
	}
	if v.CPUs < 0 || v.MemoryMB < 0 {
		problems = append(problems, errors.New("cpus and memoryMB must not be negative"))
	}
	switch v.Power {
	case "", On, Off, Suspended:
	default:
		problems = append(problems, fmt.Errorf("power %q: want on, off or suspended", v.Power))
	}

	return errors.Join(append(problems, validateNICs(v.NICs))...)
}

func validateNICs(nics []NIC) error {
	var problems []error
	for i, nic := range nics {
		for _, ip := range nic.IPs {
			if net.ParseIP(ip) == nil {
				problems = append(problems, fmt.Errorf("nic %d: ip %q is not an IP address", i, ip))
			}
		}
		if nic.MAC == "" {
			continue
		}
		if _, err := net.ParseMAC(nic.MAC); err != nil {
			problems = append(problems, fmt.Errorf("nic %d: mac %q: %w", i, nic.MAC, err))
		}
	}

	return errors.Join(problems...)
}

// names finds missing and repeated ones.
type names map[string]struct{}

func (n names) add(kind, name string) error {
	if strings.TrimSpace(name) == "" {
		return fmt.Errorf("a %s has no name", kind)
	}
	if _, ok := n[name]; ok {
		return fmt.Errorf("%s %q appears twice", kind, name)
	}
	n[name] = struct{}{}

	return nil
}
