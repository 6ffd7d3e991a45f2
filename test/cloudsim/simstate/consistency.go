package simstate

import "time"

// Consistency delays the view that reads have of new objects. An object is hidden
// until both the time has passed and the reads have missed it that often.
type Consistency struct {
	// Delay is how long a new object stays hidden.
	Delay time.Duration
	// Reads is the number of operations that do not see a new object.
	Reads int
	// Writes makes operations that change a hidden object miss it too.
	Writes bool
}

// Created is when an object was created, as far as readers know. The zero value is an
// object that is visible.
type Created struct {
	At          time.Time
	Consistency Consistency

	missed int // operations that did not see it
	last   int // the latest of these
}

// Visible reports whether an operation sees the object, and counts it if it does not.
// Operations have numbers from 1; one operation may look several times and sees the
// same each time.
func (c *Created) Visible(operation int, now time.Time) bool {
	if c.missed < c.Consistency.Reads {
		if c.last != operation {
			c.last = operation
			c.missed++
		}

		return false
	}
	if c.last == operation && c.missed > 0 {
		return false
	}

	return c.Consistency.Delay <= 0 || !now.Before(c.At.Add(c.Consistency.Delay))
}

// Changeable reports whether an operation that changes the object finds it.
func (c *Created) Changeable(operation int, now time.Time) bool {
	return !c.Consistency.Writes || c.Visible(operation, now)
}
