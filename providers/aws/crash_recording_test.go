package aws

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
)

// exchange is a call with its result, as the SDK returned it, and the state of the
// cloud then.
type exchange struct {
	op      string
	input   any
	result  any
	text    string // the result as it was
	err     error
	outcome moment
}

func newExchange(op string, input, result any, err error) exchange {
	text, _ := json.Marshal(result) // which identifies a result

	return exchange{op: op, input: input, result: result, text: string(text), err: err}
}

// recording is the exchanges of a run without faults. Decoding responses is most of
// the CPU time of a test: a run that is interrupted at a late call need not decode
// those of all earlier calls again.
type recording struct{ exchanges []exchange }

// altered are the operations whose results the product has written to. Results are
// shared, so it must not.
func (t *recording) altered() []string {
	var names []string
	for _, one := range t.exchanges {
		if text, _ := json.Marshal(one.result); string(text) != one.text {
			names = append(names, one.op)
		}
	}

	return names
}

// replayer handles calls in the SDK, before anything is sent. It may record
// exchanges, or replay them.
type replayer struct {
	// record gets all calls that are made.
	record *recording
	// replay has the first exchanges, in this order.
	replay []exchange
	// constant replays exchanges whose results never change.
	constant bool
}

// handle replays a call, or has it made.
func (p *replayer) handle(ctx context.Context, s *environment, in middleware.InitializeInput, next middleware.InitializeHandler) (
	out middleware.InitializeOutput, metadata middleware.Metadata, err error,
) {
	op := middleware.GetOperationName(ctx)
	if len(p.replay) > 0 {
		one := p.replay[0]
		p.replay = p.replay[1:]
		s.clock.SetTime(one.outcome.at)
		if one.op != op || !reflect.DeepEqual(one.input, in.Parameters) {
			s.t.Errorf("a run differs from the baseline, -then %s +now %s:\n%s", one.op, op, cmp.Diff(one.input, in.Parameters))
		}

		return middleware.InitializeOutput{Result: one.result}, metadata, one.err
	}
	s.clock.Step(callTime)
	fixed := p.constant && slices.Contains([]string{
		"DescribeSubnets", "DescribeRouteTables", "DescribeAvailabilityZones", "DescribeInstances",
	}, op)
	if fixed {
		for _, one := range s.constants.exchanges {
			if one.op == op && reflect.DeepEqual(one.input, in.Parameters) {
				return middleware.InitializeOutput{Result: one.result}, metadata, nil
			}
		}
	}
	out, metadata, err = next.HandleInitialize(ctx, in)
	if fixed && err == nil {
		s.constants.exchanges = append(s.constants.exchanges, newExchange(op, in.Parameters, out.Result, nil))
	}
	if p.record != nil {
		one := newExchange(op, in.Parameters, out.Result, err)
		one.outcome = s.save()
		p.record.exchanges = append(p.record.exchanges, one)
	}

	return out, metadata, err
}
