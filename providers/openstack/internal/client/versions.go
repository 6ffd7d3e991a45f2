package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
)

// apiVersion is an entry of a version document:
// https://specs.openstack.org/openstack/api-sig/guidelines/microversion_specification.html.
type apiVersion struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	// Version is the highest microversion.
	Version string `json:"version"`
}

// versionsDocument is a version document in one of its forms: a list, a list in "values",
// one version, or one without anything around it.
type versionsDocument struct {
	Versions json.RawMessage `json:"versions"`
	Version  json.RawMessage `json:"version"`
	ID       string          `json:"id"`
}

func parseVersions(whole json.RawMessage) ([]apiVersion, error) {
	var d versionsDocument
	if err := json.Unmarshal(whole, &d); err != nil {
		return nil, err
	}
	var all []apiVersion
	var nested struct {
		Values []apiVersion `json:"values"`
	}
	var one apiVersion
	switch {
	case json.Unmarshal(d.Versions, &all) == nil && len(all) > 0:
		return all, nil
	case json.Unmarshal(d.Versions, &nested) == nil && len(nested.Values) > 0:
		return nested.Values, nil
	case json.Unmarshal(d.Version, &one) == nil && one.ID != "":
		return []apiVersion{one}, nil
	case json.Unmarshal(whole, &one) == nil && one.ID != "":
		return []apiVersion{one}, nil
	}

	return nil, errors.New("response is no version document")
}

// readVersions reads a version document.
func readVersions(ctx context.Context, client *gophercloud.ServiceClient, from string) ([]apiVersion, error) {
	var whole json.RawMessage
	err := readJSON(ctx, client, from, &whole, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK, http.StatusMultipleChoices}})
	if err != nil {
		return nil, err
	}
	found, err := parseVersions(whole)
	if err != nil {
		return nil, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("%s: %w", client.Type, err))
	}

	return found, nil
}

// hiddenAge is how long a version document that was refused is not read again.
const hiddenAge = 10 * time.Minute

// document returns the entries of the version document, which is read once. It returns none,
// for a while, if a gateway or a policy refuses the document, as one that forwards the paths of
// the API only: the API may be used all the same.
// https://docs.openstack.org/api-guide/compute/microversions.html.
func (s *service) document(ctx context.Context, client *gophercloud.ServiceClient, base string) ([]apiVersion, error) {
	s.mu.Lock()
	if !s.hiddenSince.IsZero() && s.shared.options.Clock.Since(s.hiddenSince) >= hiddenAge {
		s.hiddenSince = s.shared.options.Clock.Now()
		s.versions.reset()
	}
	s.mu.Unlock()

	return s.versions.get(ctx, s.shared.options.LoginTimeout, func(ctx context.Context) ([]apiVersion, error) {
		all, err := readVersions(ctx, client, base)
		s.mu.Lock()
		defer s.mu.Unlock()
		if !isHidden(err) {
			s.hiddenSince = time.Time{}

			return all, err
		}
		if s.hiddenSince.IsZero() {
			klog.FromContext(ctx).Info("A service does not return its version document", "service", s.name, "reason", err.Error())
		}
		s.hiddenSince = s.shared.options.Clock.Now()

		return nil, nil
	})
}

// isHidden reports whether a version document was refused, and not because of the token or
// the number of requests.
func isHidden(err error) bool {
	e, ok := errors.AsType[*Error](err)

	return ok && e.Status >= http.StatusBadRequest && e.Status < http.StatusInternalServerError &&
		e.Status != http.StatusUnauthorized && e.Status != http.StatusRequestTimeout && !errors.Is(err, apierr.ErrThrottled)
}

var versionNumber = regexp.MustCompile(`^v?([0-9]+)(?:\.([0-9]+))?$`)

// parseVersion reads a version, with the letter v or without.
func parseVersion(text string) (features.Version, bool) {
	groups := versionNumber.FindStringSubmatch(strings.TrimSpace(text))
	if groups == nil {
		return features.Version{}, false
	}
	major, err1 := strconv.Atoi(groups[1])
	minor, err2 := strconv.Atoi(cmp.Or(groups[2], "0"))

	return features.Version{Major: major, Minor: minor}, err1 == nil && err2 == nil
}

// isCurrent reports whether a version is the one that a service recommends.
func (v apiVersion) isCurrent() bool {
	return slices.Contains([]string{"CURRENT", "STABLE"}, strings.ToUpper(v.Status))
}

// currentVersion returns the highest version with status CURRENT, else the highest of all.
func currentVersion(all []apiVersion) (features.Version, bool) {
	var best features.Version
	found, foundCurrent := false, false
	for _, v := range all {
		number, ok := parseVersion(v.ID)
		if !ok || foundCurrent && !v.isCurrent() {
			continue
		}
		if !found || v.isCurrent() && !foundCurrent || number.Compare(best) > 0 {
			best, found, foundCurrent = number, true, v.isCurrent()
		}
	}

	return best, found
}
