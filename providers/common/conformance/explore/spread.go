package explore

// Spread selects calls that are spread over all of an operation.
type Spread struct {
	// Points is how many calls are selected, all if it is 0.
	Points int
	// Turn is the number of this selection among Turns of them. Each has other
	// calls, as far as there are enough, so that together they have most.
	Turn, Turns int
}

// Of returns the selected ones of the numbers from 1 to n.
func (s Spread) Of(n int) []int {
	points, turns := s.Points, max(1, s.Turns)
	if points <= 0 || points > n {
		points = n
	}
	selected := make([]int, points)
	for i := range selected {
		selected[i] = 1 + (i*turns+s.Turn)*n/(points*turns)
	}

	return selected
}
