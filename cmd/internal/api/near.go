package api

import (
	"cmp"
	"slices"
	"strings"
)

// nearest returns the few names that somebody who typed name could have meant, best first.
func nearest(name string, known []string) []string {
	const most = 3
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	lower := strings.ToLower(name)
	for _, k := range known {
		other := strings.ToLower(k)
		far := distance(lower, other)
		if len(name) > 2 && (strings.Contains(other, lower) || len(other) > 2 && strings.Contains(lower, other)) {
			far = min(far, 2)
		}
		if far <= max(2, len(lower)/4) && far < max(len(lower), len(other)) {
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
