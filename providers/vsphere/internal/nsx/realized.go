package nsx

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// State is how far the manager has realized an object.
type State int

// The states of an object.
const (
	// Pending means that it is not known yet, or not yet realized.
	Pending State = iota
	// Realized means that it has its effect.
	Realized
	// Failed means that it cannot be realized as it is.
	Failed
)

// Realization is the realized state of an object.
type Realization struct {
	State State
	// Reason has the texts of the alarms of an object that failed.
	Reason string
	// Attributes are further attributes, such as the address of an allocation.
	Attributes map[string][]string
}

// codeNotReady is that of an alarm for a part of the manager that is not ready yet, after
// which realization goes on:
// https://github.com/vmware-tanzu/nsx-operator/blob/main/pkg/nsx/services/realizestate/realize_state.go.
const codeNotReady = 500042

// entity is a realized entity of an object, of which it can have several.
type entity struct {
	State       string   `json:"state"`
	IntentPaths []string `json:"intent_paths"`
	Alarms      []struct {
		Message string `json:"message"`
		Details struct {
			Code    int    `json:"error_code"`
			Message string `json:"error_message"`
		} `json:"error_details"`
	} `json:"alarms"`
	Attributes []struct {
		Key    string   `json:"key"`
		Values []string `json:"values"`
	} `json:"extended_attributes"`
}

// Realization reads the realized state of the object at a path. It is realized once each
// entity is; for a moment, a new object has none.
func (c *Client) Realization(ctx context.Context, path string) (Realization, error) {
	var page struct {
		Results []entity `json:"results"`
	}
	err := c.call(ctx, request{
		method: http.MethodGet, path: "/infra/realized-state/realized-entities", query: url.Values{"intent_path": {path}},
	}, &page)
	if err != nil && !errors.Is(err, apierr.ErrNotFound) {
		return Realization{}, err
	}
	own := slices.DeleteFunc(page.Results, func(e entity) bool {
		return len(e.IntentPaths) > 0 && !slices.Contains(e.IntentPaths, path)
	})

	return realizationOf(own), nil
}

func realizationOf(entities []entity) Realization {
	result := Realization{Attributes: map[string][]string{}}
	if len(entities) > 0 {
		result.State = Realized
	}
	var reasons []string
	for _, e := range entities {
		for _, attribute := range e.Attributes {
			result.Attributes[attribute.Key] = append(result.Attributes[attribute.Key], attribute.Values...)
		}
		switch {
		case e.State == "ERROR" && !e.waits():
			reasons = append(reasons, e.reason())
		case e.State != "REALIZED":
			result.State = Pending
		}
	}
	if len(reasons) > 0 {
		result.State, result.Reason = Failed, strings.Join(reasons, "; ")
	}

	return result
}

// waits reports whether all alarms of an entity are that something is not ready yet.
func (e entity) waits() bool {
	for _, alarm := range e.Alarms {
		if alarm.Details.Code != codeNotReady {
			return false
		}
	}

	return len(e.Alarms) > 0
}

func (e entity) reason() string {
	var texts []string
	for _, alarm := range e.Alarms {
		text := alarm.Message
		if alarm.Details.Message != "" && alarm.Details.Message != text {
			text = strings.TrimPrefix(text+": "+alarm.Details.Message, ": ")
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return "no alarm tells why"
	}

	return strings.Join(texts, "; ")
}
