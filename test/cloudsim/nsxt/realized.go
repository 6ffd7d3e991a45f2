package nsxt

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// The states of a realized entity ([SDK] GenericPolicyRealizedResource).
const (
	StateUnrealized  = "UNREALIZED"
	StateRealized    = "REALIZED"
	StateError       = "ERROR"
	StateUnavailable = "UNAVAILABLE"
)

// Alarm is what keeps an intent from being realized. Code 500042 is to be waited for
// (nsx-operator services/realizestate).
type Alarm struct {
	Code    int
	Message string
	// State is that of the entity. Default: StateError.
	State string
}

// failure is an alarm of all objects at or below a path.
type failure struct {
	path  string
	alarm Alarm
}

// FailRealization makes the realization of the object at a path, and of all below it, fail
// from now on, those included that do not exist yet.
func (c *Cloud) FailRealization(path string, alarm Alarm) {
	c.inspect(func() { c.state.alarms = append(c.state.alarms, failure{path, alarm}) })
}

// HealRealization ends the failures of a path.
func (c *Cloud) HealRealization(path string) {
	c.inspect(func() {
		c.state.alarms = slices.DeleteFunc(c.state.alarms, func(f failure) bool { return f.path == path })
	})
}

// realizedEntities returns what realizes an intent ([SDK] RealizedEntitiesClient).
func (c *Cloud) realizedEntities(k *call) (any, error) {
	intent := k.query.Get("intent_path")
	if intent == "" {
		return nil, invalid("intent_path is missing")
	}
	entities := []Object{}
	if o := c.state.objects[intent]; o != nil {
		entities = append(entities, c.entities(o)...)
	}
	if len(entities) == 0 && c.spec.RealizationNotFound {
		return nil, &apiError{status: http.StatusNotFound, code: 202, module: modulePolicy, message: "There is nothing that realizes " + intent + "."}
	}

	return Object{"results": entities, "result_count": len(entities)}, nil
}

// SetRealizationTime sets how long the realization of objects of a kind takes from now on, by its
// collection.
func (c *Cloud) SetRealizationTime(collection string, d time.Duration) {
	c.inspect(func() { c.spec.RealizationTimes[collection] = d })
}

// realizationTime returns how long the realization of an object of a kind takes.
func (c *Cloud) realizationTime(k *kind) time.Duration {
	if d, ok := c.spec.RealizationTimes[k.collection()]; ok {
		return max(0, d)
	}

	return c.spec.RealizationTime
}

// entities returns the realized entities of an intent: for a moment none of a new one (no
// source), then unrealized ones, of which one comes before the others.
func (c *Cloud) entities(o *object) []Object {
	whole, elapsed := c.realizationTime(o.kind), c.now().Sub(o.began)
	if !o.updated && elapsed < whole/4 {
		return nil
	}
	alarm := c.alarmOf(o)
	var all []Object
	for i, kind := range o.kind.entities {
		last := i == len(o.kind.entities)-1
		e := Object{
			"resource_type": "GenericPolicyRealizedResource", "entity_type": kind, "id": o.uid + "-" + kind, "intent_paths": []string{o.path},
			"path": "/infra/realized-state/enforcement-points/default/" + path.Base(o.path) + "/" + kind,
		}
		state := stateAfter(elapsed, whole, last)
		if last && alarm != nil && state == StateRealized {
			state = cmp.Or(alarm.State, StateError)
			e["alarms"] = []Object{alarm.document(o)}
		}
		e["state"] = state
		if o.kind.allocates && last && state == StateRealized {
			e["extended_attributes"] = o.allocationAttributes()
		}
		all = append(all, e)
	}

	return all
}

// stateAfter returns the state of an entity after a time; the last one is realized when the
// whole time has passed, the others after half of it.
func stateAfter(elapsed, whole time.Duration, last bool) string {
	if !last {
		whole /= 2
	}
	if elapsed < whole {
		return StateUnrealized
	}

	return StateRealized
}

// alarmOf returns what keeps an object from being realized, nil for nothing.
func (c *Cloud) alarmOf(o *object) *Alarm {
	for _, f := range c.state.alarms {
		if o.path == f.path || strings.HasPrefix(o.path, f.path+"/") {
			return &f.alarm
		}
	}
	if o.failure != nil || o.kind.problem == nil {
		return o.failure
	}

	return o.kind.problem(c, o)
}

// document returns the alarm as part of a realized entity ([SDK] PolicyAlarmResource).
func (a *Alarm) document(o *object) Object {
	details := Object{"error_message": a.Message, "module_name": modulePolicy}
	if a.Code != 0 {
		details["error_code"] = a.Code
	}

	return Object{
		"resource_type": "PolicyAlarmResource", "id": o.uid, "source_reference": o.path, "message": a.Message, "error_details": details,
	}
}
