package openstack

import (
	"net/http"
	"strconv"
	"strings"
)

// novaVersions responds with all versions (nova: api/openstack/compute/versions.py).
func novaVersions(k *call) (response, error) {
	return reply(http.StatusOK, object{"versions": []object{
		{
			"id": "v2.0", "status": "SUPPORTED", "version": "", "min_version": "", "updated": "2011-01-21T11:33:21Z",
			"links": []link{{"self", k.base() + "/v2/"}},
		},
		k.novaDocument(),
	}})
}

// novaVersion responds with the document of v2.1.
func novaVersion(k *call) (response, error) {
	document := k.novaDocument()
	document["links"] = []object{
		{"rel": "self", "href": k.novaBase() + "/"},
		{"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"},
	}
	document["media-types"] = []object{{
		"base": "application/json", "type": "application/vnd.openstack.compute+json;version=2.1",
	}}

	return reply(http.StatusOK, object{"version": document})
}

// listVersionChoices responds to a path with a version that does not exist (nova:
// api/openstack/compute/versions.py, VersionsViewBuilder.build_choices).
func listVersionChoices(k *call) (response, error) {
	choices := []object{}
	for _, v := range []struct{ id, path, status, media string }{
		{"v2.0", "/v2", "SUPPORTED", "2"},
		{"v2.1", "/v2.1", "CURRENT", "2.1"},
	} {
		choices = append(choices, object{
			"id": v.id, "status": v.status, "links": []link{{"self", k.base() + v.path + k.target.project}},
			"media-types": []object{{"base": "application/json", "type": "application/vnd.openstack.compute+json;version=" + v.media}},
		})
	}

	return reply(http.StatusMultipleChoices, object{"choices": choices})
}

func (k *call) novaDocument() object {
	path := "/v2.1/"
	if k.target.legacy {
		path = "/v2/"
	}

	return object{
		"id": "v2.1", "status": "CURRENT", "version": k.cloud.opts.Microversion, "min_version": "2.1",
		"updated": "2013-07-23T11:33:21Z", "links": []link{{"self", k.base() + path}},
	}
}

// novaPrepare settles the microversion of a call (nova:
// api/openstack/api_version_request.py, api/openstack/wsgi.py,
// Request.set_api_version_request) and checks the project in its path.
func novaPrepare(k *call) error {
	wanted := k.wantedVersion()
	if k.target.legacy {
		wanted = "2.1"
	}
	if wanted == "latest" {
		wanted = k.cloud.opts.Microversion
	}
	major, minor, ok := parseVersion(wanted)
	if !ok {
		return fail(http.StatusBadRequest, "", "API Version String %s is of invalid format. Must be of format MajorNum.MinorNum.", wanted)
	}
	k.version = wanted
	_, highest, _ := parseVersion(k.cloud.opts.Microversion)
	if major != 2 || minor < 1 || minor > highest {
		return fail(http.StatusNotAcceptable, "", "Version %s is not supported by the API. Minimum is 2.1 and maximum is %s.",
			wanted, k.cloud.opts.Microversion)
	}
	k.minor = minor
	if inPath := strings.TrimPrefix(k.target.project, "/"); inPath != "" && inPath != k.caller.projectID {
		return fail(http.StatusBadRequest, "", "Malformed request URL: URL's project_id '%s' doesn't match Context's project_id '%s'",
			inPath, k.caller.projectID)
	}
	if k.caller.projectID == "" {
		return k.service.denied(k)
	}

	return nil
}

// wantedVersion returns the microversion that the header names: that of
// OpenStack-API-Version, which lists services, before the older one.
func (k *call) wantedVersion() string {
	for _, value := range k.request.Header.Values("OpenStack-API-Version") {
		for entry := range strings.SplitSeq(value, ",") {
			if words := strings.Fields(entry); len(words) == 2 && words[0] == "compute" {
				return words[1]
			}
		}
	}
	if wanted := k.request.Header.Get("X-OpenStack-Nova-API-Version"); wanted != "" {
		return wanted
	}

	return "2.1"
}

func parseVersion(text string) (major, minor int, ok bool) {
	before, after, found := strings.Cut(text, ".")
	major, err := strconv.Atoi(before)
	if !found || err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(after)

	return major, minor, err == nil
}

// novaHeader adds the microversion that a response is in, or that was wanted for
// and is not supported.
func novaHeader(k *call, header http.Header) {
	if k.id != "" {
		header.Set("X-Compute-Request-Id", "req-"+k.id)
	}
	version := k.version
	if k.route != nil && k.route.op == "ShowVersion" {
		version = "2.1"
	}
	if version == "" {
		return
	}
	header.Set("OpenStack-API-Version", "compute "+version)
	header.Set("X-OpenStack-Nova-API-Version", version)
	header.Add("Vary", "OpenStack-API-Version")
	header.Add("Vary", "X-OpenStack-Nova-API-Version")
}
