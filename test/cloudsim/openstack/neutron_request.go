package openstack

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// resource is a sort of object of the API: how it is named, and which attributes it
// has.
type resource struct {
	single, plural string // port, ports: the keys of bodies
	sort           string // Port: in messages about one that is not there
	attributes     []attribute
	// internal are filters that are no attributes.
	internal []string
}

// attribute is an attribute of a resource.
type attribute struct {
	name string
	// check returns why a value is not valid, and an empty text when it is.
	check func(raw json.RawMessage) string
	post  bool // may be in a POST
	put   bool // may be in a PUT
	need  bool // must be in a POST
	// admin is set when only administrators see it.
	admin bool
	// list is set when filters and sorting do not apply to it.
	list bool
	// unsorted is set when only filters do.
	unsorted bool
}

// nameAttribute is the name of a resource.
var nameAttribute = attribute{name: "name", check: isText, post: true, put: true}

func readOnly(name string) attribute { return attribute{name: name} }

func hidden(name string) attribute { return attribute{name: name, admin: true, post: true, put: true} }

// standardAttributes are those of every resource.
var standardAttributes = []attribute{
	readOnly("id"), readOnly("created_at"), readOnly("updated_at"), readOnly("revision_number"),
	{name: "tags", list: true},
	{name: "description", check: isText, post: true, put: true, unsorted: true},
	{name: "project_id", post: true, check: isText},
	{name: "tenant_id", post: true, check: isText},
}

func (r *resource) attribute(name string) *attribute {
	for _, list := range [][]attribute{r.attributes, standardAttributes} {
		if i := slices.IndexFunc(list, func(a attribute) bool { return a.name == name }); i >= 0 {
			return &list[i]
		}
	}

	return nil
}

// create serves POST: one object, or a list of them, of which either all or none is
// made (neutron: api/v2/base.py, Controller._create).
func (r *resource) create(k *call, make func(attributes) (object, error)) (response, error) {
	var body map[string]json.RawMessage
	if json.Unmarshal(k.body, &body) != nil {
		return response{}, badRequest("Body contains invalid data")
	}
	raw, several := body[r.plural]
	if !several {
		a, err := r.parse(k, body[r.single])
		if err != nil {
			return response{}, err
		}
		made, err := make(a)
		if err != nil {
			return response{}, err
		}

		return reply(http.StatusCreated, object{r.single: made})
	}
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil || len(entries) == 0 {
		return response{}, badRequest("Resources required")
	}
	before := k.region.neutron.clone()
	made := []object{}
	for _, entry := range entries {
		a, err := r.parse(k, entry)
		if err == nil {
			var one object
			one, err = make(a)
			made = append(made, one)
		}
		if err != nil {
			*k.region.neutron = *before

			return response{}, err
		}
	}

	return reply(http.StatusCreated, object{r.plural: made})
}

// parse checks the attributes of a new object (neutron-lib: api/attributes.py,
// AttributeInfo).
func (r *resource) parse(k *call, raw json.RawMessage) (attributes, error) {
	a, err := r.decode(k, raw)
	if err != nil {
		return nil, err
	}
	if err := k.checkOwner(a); err != nil {
		return nil, err
	}
	for _, list := range [][]attribute{r.attributes, standardAttributes} {
		for _, attribute := range list {
			if attribute.need && !a.has(attribute.name) {
				return nil, badRequest("Failed to parse request. Required attribute '%s' not specified", attribute.name)
			}
			if a.has(attribute.name) && !attribute.post {
				return nil, badRequest("Attribute '%s' not allowed in POST", attribute.name)
			}
		}
	}

	return a, r.validate(a)
}

// change reads the attributes of a PUT.
func (r *resource) change(k *call) (attributes, error) {
	var body map[string]json.RawMessage
	if json.Unmarshal(k.body, &body) != nil {
		return nil, badRequest("Body contains invalid data")
	}
	a, err := r.decode(k, body[r.single])
	if err != nil {
		return nil, err
	}
	for _, name := range a.names() {
		if !r.attribute(name).put {
			return nil, badRequest("Cannot update read-only attribute %s", name)
		}
	}

	return a, r.validate(a)
}

func (r *resource) decode(k *call, raw json.RawMessage) (attributes, error) {
	var a attributes
	if raw == nil {
		return nil, badRequest("Unable to find '%s' in request body", r.single)
	}
	if json.Unmarshal(raw, &a) != nil {
		return nil, badRequest("Body contains invalid data")
	}
	var unknown []string
	for _, name := range a.names() {
		alias := extensionAttributes[name]
		if r.attribute(name) == nil || (alias != "" && !k.region.neutron.extension(k.cloud, alias)) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return nil, badRequest("Unrecognized attribute(s) '%s'", strings.Join(unknown, ", "))
	}

	return a, nil
}

func (r *resource) validate(a attributes) error {
	for _, name := range a.names() {
		if value := python(a[name]); slices.Contains(booleans, name) {
			if _, ok := asBool(value); !ok {
				return invalidInput("'%s' cannot be converted to boolean", value)
			}
		}
		if check := r.attribute(name).check; check != nil {
			if reason := check(a[name]); reason != "" {
				return badRequest("Invalid input for %s. Reason: %s", name, reason)
			}
		}
	}

	return nil
}

// checkOwner refuses objects of other projects by others than administrators.
func (k *call) checkOwner(a attributes) error {
	owner := k.owner(a)
	if owner == k.caller.projectID || k.caller.admin() {
		return nil
	}

	return badRequest("Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or advsvc privileges")
}

// owner returns the ID of the project of a new object.
func (k *call) owner(a attributes) string {
	for _, name := range []string{"project_id", "tenant_id"} {
		if id := a.text(name); id != "" {
			return id
		}
	}

	return k.caller.projectID
}

// constraint returns the revision that If-Match names, empty without one. Any other form of
// the header is ignored (neutron: services/revisions/revision_plugin.py,
// _get_constrained_instance_match).
func (k *call) constraint() (revision string, err error) {
	wanted, ok := strings.CutPrefix(k.request.Header.Get("If-Match"), "revision_number=")
	if !ok || !k.region.neutron.extension(k.cloud, "revision-if-match") {
		return "", nil
	}
	if _, err := strconv.Atoi(wanted); err != nil {
		return "", fail(http.StatusBadRequest, "BadRequest", "Bad if-match request: Revision number etag must be in the format of revision_number=<int>.")
	}

	return wanted, nil
}

// revise checks If-Match, for writes that depend on a revision (neutron:
// services/revisions/revision_plugin.py, _enforce_if_match_constraints).
func (k *call) revise(revision int) error {
	wanted, err := k.constraint()
	if err != nil || wanted == "" || wanted == digits(revision) {
		return err
	}

	return fail(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed",
		"Constrained to %s, but current revision is %d", wanted, revision)
}

// names returns the names of the attributes, sorted.
func (a attributes) names() []string {
	names := make([]string, 0, len(a))
	for name := range a {
		names = append(names, name)
	}
	slices.Sort(names)

	return names
}

// text returns an attribute that is a text, empty when it is absent or null.
func (a attributes) text(name string) string {
	var value string
	_ = a.read(name, &value) // it was checked

	return value
}

// truth returns an attribute that is a boolean, in any of its forms, and otherwise
// when it was not sent.
func (a attributes) truth(name string, otherwise bool) bool {
	if !a.has(name) {
		return otherwise
	}
	value, _ := asBool(strings.Trim(string(a[name]), `"`))

	return value
}

// setText changes a text when the attribute was sent.
func (a attributes) setText(name string, into *string) {
	if a.has(name) {
		*into = a.text(name)
	}
}

// sorted returns texts in order and once each.
func sorted(texts []string) []string {
	slices.Sort(texts)

	return slices.Compact(texts)
}
