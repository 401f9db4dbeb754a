//go:build race

package labtest

const raceDetector = true
