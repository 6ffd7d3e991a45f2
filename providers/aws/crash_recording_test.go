package aws

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
)

// take is a call with its answer, as the SDK had it from the cloud, and the state
// of the cloud then.
type take struct {
	op      string
	input   any
	result  any
	text    string // the result as it was
	err     error
	outcome moment
}

func newTake(op string, input, result any, err error) take {
	text, _ := json.Marshal(result) // which tells one answer from another
	return take{op: op, input: input, result: result, text: string(text), err: err}
}

// recording is the calls of a run that had no faults. Decoding answers is most of
// the work of a test: a run that is to end at a late call need not have the
// answers to all earlier ones decoded again.
type recording struct{ takes []take }

// calls are the names of the operations.
func (t *recording) calls() []string {
	var names []string
	for _, one := range t.takes {
		names = append(names, one.op)
	}
	return names
}

// altered are the operations whose answers somebody has written to. They are
// shared, so that must not be.
func (t *recording) altered() []string {
	var names []string
	for _, one := range t.takes {
		if text, _ := json.Marshal(one.result); string(text) != one.text {
			names = append(names, one.op)
		}
	}
	return names
}

// projector stands in the SDK, before anything is sent. It may record calls, or
// answer from recordings.
type projector struct {
	// record gets all calls that are made.
	record *recording
	// replay is what happens first, in this order.
	replay []take
	// constant says to answer from the recording of what never changes.
	constant bool
}

// handle answers a call, or has it made.
func (p *projector) handle(ctx context.Context, s *stage, in middleware.InitializeInput, next middleware.InitializeHandler) (
	out middleware.InitializeOutput, metadata middleware.Metadata, err error,
) {
	op := middleware.GetOperationName(ctx)
	if len(p.replay) > 0 {
		one := p.replay[0]
		p.replay = p.replay[1:]
		s.clock.SetTime(one.outcome.at)
		if one.op != op || !reflect.DeepEqual(one.input, in.Parameters) {
			s.t.Errorf("a run is not like the last one, -then %s +now %s:\n%s", one.op, op, cmp.Diff(one.input, in.Parameters))
		}
		return middleware.InitializeOutput{Result: one.result}, metadata, one.err
	}
	s.clock.Step(callTime)
	fixed := p.constant && slices.Contains([]string{
		"DescribeSubnets", "DescribeRouteTables", "DescribeAvailabilityZones", "DescribeInstances",
	}, op)
	if fixed {
		for _, one := range s.constants.takes {
			if one.op == op && reflect.DeepEqual(one.input, in.Parameters) {
				return middleware.InitializeOutput{Result: one.result}, metadata, nil
			}
		}
	}
	out, metadata, err = next.HandleInitialize(ctx, in)
	if fixed && err == nil {
		s.constants.takes = append(s.constants.takes, newTake(op, in.Parameters, out.Result, nil))
	}
	if p.record != nil {
		one := newTake(op, in.Parameters, out.Result, err)
		one.outcome = s.save()
		p.record.takes = append(p.record.takes, one)
	}
	return out, metadata, err
}
