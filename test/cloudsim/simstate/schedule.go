package simstate

import (
	"slices"
	"time"
)

// Schedule is a list of changes to a state S that are due later. The zero value is
// empty.
type Schedule[S any] struct {
	pending []change[S]
}

type change[S any] struct {
	due   time.Time
	apply func(S)
}

// At adds a change that [Schedule.Run] applies once it is due.
func (s *Schedule[S]) At(due time.Time, apply func(S)) {
	s.pending = append(s.pending, change[S]{due, apply})
}

// Run applies what is due, in the order in which it was added. What a change adds is
// applied by the next call.
func (s *Schedule[S]) Run(now time.Time, state S) {
	pending := s.pending
	s.pending = nil
	for _, c := range pending {
		if c.due.After(now) {
			s.pending = append(s.pending, c)
		} else {
			c.apply(state)
		}
	}
}

// Clone returns a copy.
func (s *Schedule[S]) Clone() Schedule[S] {
	return Schedule[S]{pending: slices.Clone(s.pending)}
}
