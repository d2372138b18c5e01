// Package near finds the names that somebody who mistyped one could have meant. It knows
// nothing of what the names name.
package near

import (
	"cmp"
	"slices"
	"strings"
)

// most is how many names are offered: more would be a list to search again.
const most = 3

// Names returns the few of known that somebody who typed name could have meant, best first.
func Names(name string, known []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	lower := strings.ToLower(name)
	slips := max(2, len(lower)/4)
	if len(lower) < 4 {
		slips = 1
	}
	for _, k := range known {
		other := strings.ToLower(k)
		far := slips + 1 // or more
		if longer := len(lower) - len(other); -slips <= longer && longer <= slips {
			far = distance(lower, other)
		}
		if len(name) > 2 && (strings.Contains(other, lower) || len(other) > 2 && strings.Contains(lower, other)) {
			far = min(far, 1)
		}
		if far <= slips && far < max(len(lower), len(other)) {
			found = append(found, candidate{k, far})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, c := range found[:min(most, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// distance is how many bytes have to be added, removed or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			step := diagonal
			if a[i] != b[j] {
				step++
			}
			diagonal = row[j+1]
			row[j+1] = min(step, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
