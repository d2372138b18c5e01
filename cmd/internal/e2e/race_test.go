//go:build race

package e2e

// raceDetector lets the program be built as the tests are.
const raceDetector = true
