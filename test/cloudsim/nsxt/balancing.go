package nsxt

import (
	"errors"
	"slices"
	"strings"
)

// seedBalancing makes the pools and profiles of the spec, and the profiles that a manager has.
func (c *Cloud) seedBalancing() error {
	profiles := append([]Profile{
		{Path: profilePath + "default-tcp-lb-app-profile", Type: fastTCP}, {Path: profilePath + "default-udp-lb-app-profile", Type: fastUDP},
	}, c.spec.Profiles...)
	var problems []error
	for _, p := range profiles {
		problems = append(problems, c.Put(p.Path, Object{"resource_type": p.Type, "display_name": p.Name}))
	}
	for _, p := range c.spec.Pools {
		problems = append(problems, c.seedPool(p))
	}

	return errors.Join(problems...)
}

// others returns the objects of a kind by their paths, as they would be after a change,
// without those that are marked for deletion.
func (c *Cloud) others(name string, changed *object) []*object {
	var found []*object
	if changed.kind.name == name {
		found = append(found, changed)
	}
	for path, o := range c.state.objects {
		if o.kind.name == name && !o.marked && path != changed.path {
			found = append(found, o)
		}
	}

	slices.SortFunc(found, func(a, b *object) int { return strings.Compare(a.path, b.path) })

	return found
}

// at returns the object at a path as it would be after a change, nil for none.
func (c *Cloud) at(path string, changed *object) *object {
	if path == changed.path {
		return changed
	}

	return c.state.objects[path]
}

// refuse returns a problem as the refusal of a write, unless it is only seen in the realized
// state.
func (c *Cloud) refuse(problem string) error {
	if problem == "" || c.spec.ErrorsRealized {
		return nil
	}

	return invalid("%s", problem)
}

// realized returns a problem as an alarm if writes are not refused.
func (c *Cloud) realized(problem string) *Alarm {
	if problem == "" || !c.spec.ErrorsRealized {
		return nil
	}

	return &Alarm{Message: problem}
}
