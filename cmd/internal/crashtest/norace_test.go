//go:build !race

package crashtest

// raceDetector has the program built as the tests are.
const raceDetector = false
