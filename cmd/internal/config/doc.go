// Package config reads how the binary reaches Kafka: from flags, from the environment, and
// from the Java properties that the stock tools take with --command-config, so that a file
// that works for kafka-consumer-groups works here.
//
// It refuses what it cannot honour: a security setting that it does not know or that only a
// Java client has, a mechanism other than PLAIN and SCRAM, a store without what is asked of it.
// Settings of consumers, producers and admin clients are passed over, and said to be. Nothing
// that it returns, prints or logs holds a secret.
package config
