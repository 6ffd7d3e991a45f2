package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
)

// tagged returns the resource that the path names (neutron: extensions/tagging.py).
// It is looked up like any other, but nothing more is checked: in Zed even the role
// reader may change tags, and everyone those of shared networks.
func (k *call) tagged() (*standard, error) {
	var s *standard
	sort, id := k.path("sort"), k.path("id")
	switch sort {
	case "networks":
		if n, err := k.network(id); err == nil {
			s = &n.standard
		}
	case "subnets":
		if n, err := k.subnet(id); err == nil {
			s = &n.standard
		}
	case "ports":
		if p := k.region.neutron.ports.get(id); p != nil && (k.canReadPort(p) || k.ownsNetwork(p)) {
			s = &p.standard
		}
	case "routers":
		if t, err := k.router(id); err == nil {
			s = &t.standard
		}
	case "floatingips":
		if f, err := k.floatingIP(id); err == nil {
			s = &f.standard
		}
	case "security-groups":
		if g, err := k.group(id); err == nil {
			s = &g.standard
		}
	default:
		return nil, k.service.missing
	}
	if s == nil {
		return nil, fail(http.StatusNotFound, "TagResourceNotFound", "Resource %s %s could not be found.", sort, id)
	}

	return s, nil
}

func (k *call) setTags(s *standard, tags []string) {
	s.tags = sorted(tags)
	s.touch(k.now())
}

func checkTag(tag string) error {
	if len([]rune(tag)) > maxText {
		return invalidInput("'%s' exceeds maximum length of 255", tag)
	}

	return nil
}

func noTag(tag string) *apiError {
	return fail(http.StatusNotFound, "TagNotFound", "Tag %s could not be found.", tag)
}

func listTags(k *call) (response, error) {
	s, err := k.tagged()
	if err != nil {
		return response{}, err
	}

	return found("tags", append([]string{}, s.tags...))
}

func showTag(k *call) (response, error) {
	s, err := k.tagged()
	if err != nil {
		return response{}, err
	}
	if !slices.Contains(s.tags, k.path("tag")) {
		return response{}, noTag(k.path("tag"))
	}

	return response{status: http.StatusNoContent}, nil
}

func addTag(k *call) (response, error) {
	s, err := k.tagged()
	if err != nil {
		return response{}, err
	}
	tag := k.path("tag")
	if err := checkTag(tag); err != nil {
		return response{}, err
	}
	if !slices.Contains(s.tags, tag) {
		k.setTags(s, append(slices.Clone(s.tags), tag))
	}

	return reply(http.StatusCreated, json.RawMessage("null"))
}

func replaceTags(k *call) (response, error) {
	s, err := k.tagged()
	if err != nil {
		return response{}, err
	}
	var body map[string]json.RawMessage
	if json.Unmarshal(k.body, &body) != nil {
		return response{}, badRequest("Body contains invalid data")
	}
	tags := []string{}
	if body["tags"] == nil || json.Unmarshal(body["tags"], &tags) != nil {
		return response{}, invalidInput("'%s' is not a list", python(body["tags"]))
	}
	for _, tag := range tags {
		if err := checkTag(tag); err != nil {
			return response{}, err
		}
	}
	k.setTags(s, tags)

	return found("tags", append([]string{}, s.tags...))
}

func deleteTag(k *call) (response, error) {
	s, err := k.tagged()
	if err != nil {
		return response{}, err
	}
	tag := k.path("tag")
	if !slices.Contains(s.tags, tag) {
		return response{}, noTag(tag)
	}
	k.setTags(s, slices.DeleteFunc(slices.Clone(s.tags), func(have string) bool { return have == tag }))

	return response{status: http.StatusNoContent}, nil
}
