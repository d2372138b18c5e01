// Package arch states the rules of the house as tests: which package may import which, and
// that every package says what it holds. It has no code to import.
package arch
