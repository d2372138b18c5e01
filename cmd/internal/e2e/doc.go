// Package e2e proves the whole line: the built binary against a real Apache Kafka, by its
// command line and its HTTP API, with the clients and the stock tools that people use.
//
// It holds tests only. What they compare with is what a client sent or what a broker answered,
// never another part of this repository.
package e2e
